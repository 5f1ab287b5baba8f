const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `10s`, `5m`, `1d12h`; a bare number is seconds. Null: not a duration. */
export function millisecondsOf(text: string): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  if (!/^(?:\d{1,9}[smhd])+$/.test(text)) return null;
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+)([smhd])/g))
    total += Number(number) * (UNITS[unit as string] as number);
  return total;
}
