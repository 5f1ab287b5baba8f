import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './failure.tsx';
import { SkeletonRows } from './skeleton.tsx';

/** Loading, refused, or shown. Data that could not be refreshed stays, greyed, below a sentence that says so. */
export function Data<T>(props: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  loading?: ReactNode;
}) {
  const { query, children, loading = <SkeletonRows /> } = props;
  const again = () => void query.refetch();
  if (query.data === undefined) {
    if (query.isError)
      return (
        <div className="p-4">
          <Failure error={query.error} retry={again} />
        </div>
      );
    return <>{loading}</>;
  }
  if (!query.isRefetchError) return <>{children(query.data)}</>;
  return (
    <>
      <div className="p-4">
        <Failure error={query.error} retry={again} />
      </div>
      <div className="grayscale">{children(query.data)}</div>
    </>
  );
}
