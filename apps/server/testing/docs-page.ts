import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { TestServer } from './test-server.ts';

/**
 * Executes the commands of a page of docs/ in order and compares their output with the page. `…` stands for anything; `NAME="…"`
 * copies a value that was shown before.
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

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * One shell for all commands of a page, as a reader has. Starting a process costs a worker that holds databases in memory a tenth
 * of a second each time.
 */
function shell(environment: Record<string, string>) {
  const bash = spawn('bash', { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  let heard = () => {};
  bash.stdout.on('data', (chunk) => {
    out += chunk;
    heard();
  });
  bash.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = once(bash, 'close').then(() => heard());
  return {
    set: (name: string, value: string) => bash.stdin.write(`export ${name}=${quoted(value)}\n`),
    /** Its output; it must succeed. */
    async run(command: string): Promise<string> {
      [out, errors] = ['', ''];
      bash.stdin.write(`eval ${quoted(command)} </dev/null\nprintf '\\0%s\\0' $?\n`);
      for (;;) {
        const [, printed, status] = /^(.*?)\0(\d+)\0$/s.exec(out) ?? [];
        if (printed !== undefined && status === '0') return printed;
        if (printed !== undefined || bash.exitCode !== null)
          throw new Error(`${command}\nended with ${status ?? bash.exitCode}: ${errors}`);
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
    async end(): Promise<void> {
      bash.stdin.end();
      await ended;
    },
  };
}

/** How many commands the page has. */
export async function runPage(t: TestServer, page: string): Promise<number> {
  const steps = stepsOf(readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8'));
  const bash = shell({
    PATH: process.env.PATH ?? '',
    MUSTER: t.server.url,
    OPERATOR: `authorization: Bearer ${t.operator}`,
    JSON: 'content-type: application/json',
  });
  let shown = '';
  try {
    for (const { command, answer } of steps) {
      const [, name, value] = /^([A-Z]+)="(.*)"$/.exec(command) ?? [];
      if (name !== undefined && value !== undefined) {
        const copied = /\S*…$/.exec(value)?.[0] ?? '';
        // the last value that was shown
        const found = [...shown.matchAll(new RegExp(`${pattern(copied.slice(0, -1))}[\\w-]+`, 'g'))].at(
          -1,
        )?.[0];
        bash.set(name, value.replace(copied, String(found)));
        continue;
      }
      const stdout = await bash.run(command);
      shown += stdout;
      for (const [secret] of stdout.matchAll(/mst_\w+_1_[\w-]{43}/g)) t.secret(secret);
      expect(stdout.trim(), command).toMatch(new RegExp(`^${pattern(answer)}$`, 's'));
    }
  } finally {
    await bash.end();
  }
  return steps.length;
}
