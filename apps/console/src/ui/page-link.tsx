import { Link } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode } from 'react';
import type { Address } from '../page-address.ts';

/** A link to a page of the console. */
export interface PageLinkProps extends Address, Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly children: ReactNode;
  /** In a navigation: by default also current for the pages below it. */
  readonly mark?: 'exact' | 'below';
}

export function PageLink({ to, params, search, mark, ...rest }: PageLinkProps) {
  const marked: object =
    mark === undefined
      ? // the very same address, or the router would call every link to this page the current one
        { activeOptions: { exact: true, includeSearch: true } }
      : {
          activeOptions: { exact: mark === 'exact', includeSearch: false },
          activeProps: { 'aria-current': 'page' },
        };
  // the paths come from the list in pages.ts; the router's own types are not used
  const where = { to, params, search: search ?? {} } as { to: string };
  return <Link {...where} {...marked} {...(rest as object)} />;
}
