/** The content type, not the path, tells what a request carries; a client without one sends a report. */
export function isCheckIn(contentType: string | undefined): boolean {
  return (contentType ?? '').trim().toLowerCase().startsWith('application/x-apple-aspen-mdm-checkin');
}
