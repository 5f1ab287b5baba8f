import { Time } from '../../ui/time.tsx';

/** The last response: the status and the sentence, never the status alone. */
export function LastAnswer({
  last,
}: {
  last: { readonly at: string; readonly status: number | null; readonly error: string | null } | null;
}) {
  if (!last) return <span className="text-ink-3">nothing sent yet</span>;
  return (
    <span className="wrap-anywhere">
      <span className={last.error === null ? 'text-green-text' : 'text-red-text'}>
        {last.error === null ? 'taken' : 'not taken'}
      </span>
      <span className="text-ink-2">
        {last.status !== null && ` · ${last.status}`}
        {last.error !== null && ` · ${last.error}`}
      </span>
      <span className="text-ink-3">
        {' '}
        · <Time at={last.at} />
      </span>
    </span>
  );
}
