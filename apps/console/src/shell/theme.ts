import { useSyncExternalStore } from 'react';
import { remembered } from '../words/remembered.ts';

const theme = remembered<'system' | 'light' | 'dark'>('muster-theme', ['system', 'light', 'dark'], 'system');
export type Theme = ReturnType<typeof theme.read>;

function apply(chosen: Theme) {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = chosen === 'system' ? (dark ? 'dark' : 'light') : chosen;
}

theme.watch(() => apply(theme.read()));

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(theme.watch, theme.read), theme.write];
}
