import type { ButtonHTMLAttributes, Ref } from 'react';
import { classes } from './classes.ts';

/** In ink, because colour means state; only destructive buttons are red. 32 px high, 44 on touch screens. */
const LOOKS = {
  plain: 'border border-control bg-surface text-ink hover:bg-sunken',
  first: 'border border-ink bg-ink text-surface hover:opacity-90',
  quiet: 'border border-transparent text-ink hover:bg-sunken',
  danger: 'border border-red-fill bg-surface text-red-text hover:bg-red-tint',
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: keyof typeof LOOKS;
  readonly ref?: Ref<HTMLButtonElement>;
}

export const buttonClasses = (look: keyof typeof LOOKS = 'plain') =>
  classes(
    'inline-flex h-8 pointer-coarse:min-h-touch items-center justify-center gap-2 rounded-control px-3 text-table font-medium',
    'whitespace-nowrap transition-colors duration-120 disabled:opacity-50',
    LOOKS[look],
  );

export function Button({ look = 'plain', className, type = 'button', ...rest }: ButtonProps) {
  return <button type={type} className={classes(buttonClasses(look), className)} {...rest} />;
}
