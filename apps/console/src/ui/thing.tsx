import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Refused } from '../api/refused.ts';
import type { Address } from '../page-address.ts';
import { Data } from './data.tsx';
import { Failure, sentenceOf } from './failure.tsx';
import { TextLink } from './link.tsx';
import { Page, PageSkeleton } from './page.tsx';

/**
 * The subject of a page: loading, found, or not. A page without it still has a heading, a sentence and a way back.
 */
export function Thing<T>(props: {
  query: UseQueryResult<T>;
  /** "Device", and its id. */
  noun: string;
  id: string;
  back: Address & { readonly word: string };
  children: (data: T) => ReactNode;
}) {
  const { query, noun, id, back } = props;
  const name = `${noun} ${id}`;
  if (query.data === undefined && query.isError) {
    const { error } = query;
    const isUnknown = error instanceof Refused && error.status === 404;
    const { word, ...to } = back;
    return (
      <Page title={isUnknown ? `There is no ${noun.toLowerCase()} ${id}` : name} name={name}>
        {isUnknown ? (
          <p className="text-ink-2">
            {sentenceOf(error)} It may have been deleted, or belong to another tenant.
          </p>
        ) : (
          <Failure error={error} retry={() => void query.refetch()} />
        )}
        <p>
          <TextLink {...to}>{word}</TextLink>
        </p>
      </Page>
    );
  }
  return (
    <Data query={query} loading={<PageSkeleton name={name} />}>
      {props.children}
    </Data>
  );
}
