import { TriangleAlert } from 'lucide-react';
import { Refused } from '../api/refused.ts';
import { Button } from './button.tsx';

/** The server's own sentence, its code, and the id of the request in its log. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const refused = error instanceof Refused ? error : null;
  return (
    <div
      role="alert"
      className="flex flex-wrap items-start gap-3 rounded-card border border-red-fill bg-surface px-4 py-3"
    >
      <TriangleAlert aria-hidden size={16} className="mt-hair text-red-text" />
      <div className="min-w-0 flex-1">
        <p>{sentenceOf(error)}</p>
        {refused && (
          <p className="font-mono text-label text-ink-3">
            {refused.code}
            {refused.requestId && ` · request ${refused.requestId}`}
          </p>
        )}
      </div>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function sentenceOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  return 'The server did not answer. Is it running, and is this machine connected?';
}
