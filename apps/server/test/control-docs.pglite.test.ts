import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { controlHouse, type House, OPERATOR } from '../testing/control-house.ts';

/** The commands of docs/control.md, executed in their order against a fresh server, and what they answer. */
const text = readFileSync(new URL('../../../docs/control.md', import.meta.url), 'utf8');

let house: House;
beforeAll(async () => {
  house = await controlHouse();
});
afterAll(() => house.close());

interface Step {
  readonly command: string;
  readonly answer: string;
}

function stepsOf(page: string): Step[] {
  return [...page.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...answer] = step.trimEnd().split('\n');
        return { command, answer: answer.join('\n') };
      }),
  );
}

/** `…` stands for anything. */
const pattern = (words: string) =>
  words
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*?');

it('every command of the page is answered as the page says', async () => {
  const steps = stepsOf(text);
  expect(steps.length).toBeGreaterThan(15);
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    MUSTER: house.url,
    OPERATOR: `authorization: Bearer ${OPERATOR}`,
  };
  let shown = '';
  for (const { command, answer } of steps) {
    const [, name, value] = /^([A-Z]+)="(.*)"$/.exec(command) ?? [];
    if (name !== undefined && value !== undefined) {
      // The reader copies a part of what was shown before.
      const copied = /\S*…$/.exec(value)?.[0] ?? '';
      const found = new RegExp(`${pattern(copied.slice(0, -1))}[\\w-]+`).exec(shown)?.[0];
      environment[name] = value.replace(copied, String(found));
      continue;
    }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: environment });
    shown += stdout;
    expect(stdout.trim(), command).toMatch(new RegExp(`^${pattern(answer)}$`, 's'));
  }
});
