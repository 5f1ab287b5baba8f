import type { ReactNode } from 'react';

/** What would be here, and the command that creates it. */
export function Empty({
  title,
  children,
  command,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
}) {
  return (
    <div className="flex flex-col items-start gap-2 px-4 py-6">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-prose text-ink-2">{children}</div>}
      {command && (
        <code className="max-w-full rounded-control bg-sunken px-3 py-2 font-mono text-table wrap-anywhere whitespace-pre-wrap">
          {command}
        </code>
      )}
    </div>
  );
}
