import { flushSync } from 'react-dom';

/**
 * Keys press visible buttons, so a key can do nothing that a role may not, and asks for confirmation where the button does. They act
 * on the selected rows, or else on the row with the focus. Without either, a letter does nothing.
 */
const ROWS = '#main tbody tr:not([aria-hidden]), #main [data-row]';

export function rowOf(): HTMLElement | undefined {
  return document.activeElement?.closest<HTMLElement>(ROWS) ?? undefined;
}

export function press(name: RegExp): boolean {
  const row = rowOf();
  if (selected()) return pressIn(selected(), name);
  if (pressIn(row, name)) return true;
  // list acts apply to selected rows, so this row is selected
  const box = row?.querySelector<HTMLElement>('input[type=checkbox]');
  if (!box) return false;
  flushSync(() => box.click());
  return pressIn(selected(), name);
}

const selected = () => document.querySelector<HTMLElement>('#main [data-selected]') ?? undefined;

/** The act of the row, else of the page: it only opens. */
export function openMenu(): boolean {
  return pressIn(rowOf() ?? actsPlace(), /^more/i);
}

function pressIn(place: HTMLElement | undefined, name: RegExp): boolean {
  const button = place && buttonsIn(place).find((one) => name.test(nameOf(one)));
  button?.click();
  return button !== undefined;
}

/** The acts beside the heading, for the palette. */
export function actsOfPage(): readonly { readonly word: string; readonly act: () => void }[] {
  const place = actsPlace();
  return (place ? buttonsIn(place) : [])
    .filter((one) => nameOf(one) !== 'More')
    .map((button) => ({ word: nameOf(button), act: () => button.click() }));
}

/** To the row below or above, or the first one if none has the focus. Focuses its link, so that Enter opens it, not its box. */
export function moveRow(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => row.offsetParent !== null);
  const at = rows.indexOf(rowOf() as HTMLElement);
  const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  if (!row) return false;
  const inside = row.querySelector<HTMLElement>('a[href]') ?? row.querySelector<HTMLElement>('button');
  // a row without a control can still be read
  if (!inside) row.tabIndex = -1;
  (inside ?? row).focus();
  row.scrollIntoView({ block: 'nearest' });
  return true;
}

const actsPlace = () => document.querySelector<HTMLElement>('#main [data-acts]') ?? undefined;
const nameOf = (button: HTMLElement) => button.getAttribute('aria-label') ?? button.innerText.trim();
const buttonsIn = (place: HTMLElement) => [...place.querySelectorAll<HTMLButtonElement>('button:enabled')];
