import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { TestServer } from './test-server.ts';

/**
 * Executes the commands of a page of docs/ in their order and compares what they answer with what the page says. `…`
 * stands for anything; `NAME="…"` copies what was shown before.
 */
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

const pattern = (words: string) =>
  words
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*?');

/** How many commands it had. */
export async function runPage(t: TestServer, page: string): Promise<number> {
  const steps = stepsOf(readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8'));
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    MUSTER: t.server.url,
    OPERATOR: `authorization: Bearer ${t.operator}`,
    JSON: 'content-type: application/json',
  };
  let shown = '';
  for (const { command, answer } of steps) {
    const [, name, value] = /^([A-Z]+)="(.*)"$/.exec(command) ?? [];
    if (name !== undefined && value !== undefined) {
      const copied = /\S*…$/.exec(value)?.[0] ?? '';
      // the last one that was shown
      const found = [...shown.matchAll(new RegExp(`${pattern(copied.slice(0, -1))}[\\w-]+`, 'g'))].at(
        -1,
      )?.[0];
      environment[name] = value.replace(copied, String(found));
      continue;
    }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: environment });
    shown += stdout;
    for (const [secret] of stdout.matchAll(/mst_\w+_1_[\w-]{43}/g)) t.secret(secret);
    expect(stdout.trim(), command).toMatch(new RegExp(`^${pattern(answer)}$`, 's'));
  }
  return steps.length;
}
