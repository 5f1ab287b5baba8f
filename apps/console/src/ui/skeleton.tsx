import { classes } from './classes.ts';

/** As large as the content that will replace it; visible only after 150 ms. */
export function Skeleton({ className }: { className: string }) {
  return <div aria-hidden className={classes('skeleton', className)} />;
}

export function SkeletonRows({ rows = 8 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={row} className="flex h-row items-center gap-4 border-b px-4 last:border-b-0">
          <Skeleton className="h-3 w-[14%]" />
          <Skeleton className="h-3 w-[26%]" />
          <Skeleton className="h-3 w-[34%]" />
        </div>
      ))}
    </div>
  );
}
