import { classes } from './classes.ts';
import { PageLink, type PageLinkProps } from './page-link.tsx';

/** A link in ink with a quiet line below it. */
export function TextLink({ className, ...rest }: PageLinkProps) {
  return (
    <PageLink
      {...rest}
      className={classes('underline decoration-line underline-offset-2 hover:decoration-ink', className)}
    />
  );
}
