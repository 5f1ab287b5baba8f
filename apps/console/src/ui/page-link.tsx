import { Link } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode } from 'react';
import type { Address } from '../page-address.ts';

/** A link to a page of the console. */
export interface PageLinkProps extends Address, Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly children: ReactNode;
  /** In a navigation: current for the pages below it too, unless said. */
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
  // the paths are those of the list; the router's own types are not asked
  const where = { to, params, search: search ?? {} } as { to: string };
  return <Link {...where} {...marked} {...(rest as object)} />;
}
