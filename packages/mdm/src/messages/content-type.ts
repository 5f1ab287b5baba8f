/** What a request carries is told by its content type, not by its path; a client without one sends a report. */
export function isCheckIn(contentType: string | undefined): boolean {
  return (contentType ?? '').trim().toLowerCase().startsWith('application/x-apple-aspen-mdm-checkin');
}
