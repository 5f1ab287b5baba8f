import { type ReactNode, useEffect, useRef } from 'react';
import { titleIs } from '../words/page-title.ts';
import { SkeletonRows } from './skeleton.tsx';

/** A placeholder while the subject of the page is read. */
export function PageSkeleton({ name }: { name: string }) {
  return (
    <Page title={name} name={name}>
      <div className="rounded-card border bg-surface">
        <SkeletonRows rows={6} />
      </div>
    </Page>
  );
}

/** Where the visit began: there the first Tab goes to the link that skips the navigation. */
const first = location.pathname;
let hasMoved = false;

/** A page: one heading, which gets the focus after navigation, and the acts beside it. */
export function Page(props: {
  title: ReactNode;
  name: string;
  beside?: ReactNode;
  acts?: ReactNode;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    titleIs(props.name);
  }, [props.name]);
  useEffect(() => {
    hasMoved ||= location.pathname !== first;
    if (hasMoved) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="flex flex-col gap-4">
      <header className="flex min-h-touch flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 wrap-anywhere">
          <h1 ref={heading} tabIndex={-1} className="text-title font-semibold wrap-anywhere">
            {props.title}
          </h1>
          {props.beside}
        </div>
        {props.acts && (
          <div data-acts className="flex flex-wrap items-center gap-2">
            {props.acts}
          </div>
        )}
      </header>
      {props.children}
    </div>
  );
}
