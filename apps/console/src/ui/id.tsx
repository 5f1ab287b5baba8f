/** An id, in a face in which 1 and l differ. */
export function Id({ children }: { children: string }) {
  return <span className="font-mono text-label font-normal text-ink-3">{children}</span>;
}
