/**
 * One meaning per colour. slate: no news · blue: a worker has it now · green: done, online · red: lost · amber: a person
 * or a rule holds it · plum: a clock decides. Whole class names: Tailwind does not find concatenated ones.
 */
export type Tone = 'slate' | 'blue' | 'green' | 'red' | 'amber' | 'plum';

export const TONES: Readonly<
  Record<Tone, { text: string; tint: string; fill: string; border: string; stroke: string }>
> = {
  slate: {
    text: 'text-slate-text',
    tint: 'bg-slate-tint',
    fill: 'bg-slate-fill',
    border: 'border-slate-fill',
    stroke: '--slate-fill',
  },
  blue: {
    text: 'text-blue-text',
    tint: 'bg-blue-tint',
    fill: 'bg-blue-fill',
    border: 'border-blue-fill',
    stroke: '--blue-fill',
  },
  green: {
    text: 'text-green-text',
    tint: 'bg-green-tint',
    fill: 'bg-green-fill',
    border: 'border-green-fill',
    stroke: '--green-fill',
  },
  red: {
    text: 'text-red-text',
    tint: 'bg-red-tint',
    fill: 'bg-red-fill',
    border: 'border-red-fill',
    stroke: '--red-fill',
  },
  amber: {
    text: 'text-amber-text',
    tint: 'bg-amber-tint',
    fill: 'bg-amber-fill',
    border: 'border-amber-fill',
    stroke: '--amber-fill',
  },
  plum: {
    text: 'text-plum-text',
    tint: 'bg-plum-tint',
    fill: 'bg-plum-fill',
    border: 'border-plum-fill',
    stroke: '--plum-fill',
  },
};
