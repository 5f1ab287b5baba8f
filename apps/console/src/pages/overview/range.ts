/** The last hour by minutes, the last day by quarters of an hour; both end now, the default of the server. */
const DAY_MS = 86_400_000;

export function rangeOf(span: 'hour' | 'day') {
  if (span === 'hour') return { query: { step: 60 as const } };
  // rounded to the quarter, so that the URL of the request stays the same for a while
  const quarter = 900_000;
  const to = Math.ceil(Date.now() / quarter) * quarter;
  return {
    query: { step: 900 as const, from: new Date(to - DAY_MS).toISOString(), to: new Date(to).toISOString() },
  };
}
