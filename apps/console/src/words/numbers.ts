const grouped = new Intl.NumberFormat('en', { useGrouping: true });

/** 1 204, with a thin space that does not break. Never "1.2k": people act on the exact number. */
export function count(value: number): string {
  return grouped.format(value).replaceAll(',', '\u202f');
}

/** "1 device", "7 devices". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
