import { useNavigate } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import type { PagePath } from '../page-address.ts';
import { remembered } from '../words/remembered.ts';
import { moveRow, openMenu, press, rowOf } from './pressing.ts';

/** The keys. Single letters can be switched off; Ctrl K stays. */
const keys = remembered<'on' | 'off'>('muster-keys', ['on', 'off'], 'on');

export function useKeysSwitch(): readonly [boolean, (on: boolean) => void] {
  return [useSyncExternalStore(keys.watch, keys.read) === 'on', (on) => keys.write(on ? 'on' : 'off')];
}

export const GO: Readonly<Record<string, readonly [page: PagePath, word: string]>> = {
  o: ['/', 'Overview'],
  t: ['/targets', 'Targets'],
  a: ['/actions', 'Actions'],
  d: ['/dead-letters', 'Dead letters'],
  b: ['/batches', 'Batches'],
  p: ['/tasks', 'Tasks & PCs'],
  w: ['/workflows', 'Workflows'],
  r: ['/orders', 'Orders'],
  h: ['/phones', 'Phones'],
  k: ['/webhooks', 'Webhooks'],
  s: ['/settings', 'Settings'],
};

export const KEYS: readonly (readonly [key: string, word: string])[] = [
  ['Ctrl K', 'Find a page, an id, a name or a command of this page'],
  ...Object.entries(GO).map(([key, [, word]]) => [`g ${key}`, `Go to ${word}`] as const),
  ['/', 'To the filter'],
  ['j, k', 'To the next or previous row'],
  ['Enter', 'Open it'],
  ['x', 'Select the row'],
  ['e', 'Redrive the selected rows, or this one'],
  ['c', 'Cancel them'],
  ['p', 'Pause or resume the row'],
  ['.', 'More commands'],
  ['Esc', 'Close what is open'],
  ['?', 'Show this'],
];

export function useKeys(open: (what: 'palette' | 'keys') => void): void {
  const navigate = useNavigate();
  useEffect(() => {
    let isGoing = false;
    const heard = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        open('palette');
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || keys.read() === 'off' || isTyping(event)) return;
      const going = isGoing;
      isGoing = event.key === 'g' && !going;
      const page = going ? GO[event.key] : undefined;
      if (page) void navigate({ to: page[0] });
      if (page || single(event.key, open)) event.preventDefault();
    };
    addEventListener('keydown', heard);
    return () => removeEventListener('keydown', heard);
  }, [navigate, open]);
}

/** Whether the key did something here. */
function single(key: string, open: (what: 'palette' | 'keys') => void): boolean {
  switch (key) {
    case '?':
      open('keys');
      return true;
    case '/': {
      const filter = document.getElementById('filter');
      filter?.focus();
      return filter !== null;
    }
    case 'j':
      return moveRow(1);
    case 'k':
      return moveRow(-1);
    case 'x': {
      const box = rowOf()?.querySelector<HTMLElement>('input[type=checkbox]');
      box?.click();
      return box !== undefined && box !== null;
    }
    case 'e':
      return press(/^redrive/i);
    case 'c':
      return press(/^(cancel|ask to stop)/i);
    case 'p':
      return press(/^(pause|resume)/i);
    case '.':
      return openMenu();
    default:
      return false;
  }
}

function isTyping({ target }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  const isBox = target instanceof HTMLInputElement && target.type === 'checkbox';
  return !isBox && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
