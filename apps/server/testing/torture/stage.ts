import type { Database } from '@muster/engine';
import type { CallLog } from './call-log.ts';
import type { Client, Door } from './client.ts';
import type { ReadFeed } from './feed-reader.ts';
import type { Finding } from './finding.ts';
import type { Random } from './random.ts';
import type { ServerNode } from './server-process.ts';

/** One installation under test: its nodes, the acts against it, and a way to read it afterwards. */
export interface Stage {
  readonly nodes: readonly Pick<ServerNode, 'faults' | 'kills' | 'stop'>[];
  /** Where clients call: a proxy before each node, or one balancer for all. */
  readonly doors: readonly Door[];
  readonly token: string;
  /** The acts of the conductor, by name. */
  readonly acts: Readonly<Record<string, Act>>;
  /** Slow acts, only in long runs. */
  readonly slowActs?: Readonly<Record<string, Act>>;
  /** How often the database, or sessions of it, were ended. */
  crashes?(): number;
  readonly readFeed: ReadFeed;
  /** For an application that shares the database; null if none can. */
  readonly applicationUrl: string | null;
  /** Load beside the clients of the round, with checks of its own. It ends when the round is over. */
  company?(playing: { readonly random: Random; isOver(): boolean }): Promise<readonly Finding[]>;
  /** The database without its servers, which are stopped by then. */
  open(): Promise<Database>;
  close(): Promise<void>;
}

/** Resolves when it is done. */
export type Act = (on: ActTools) => Promise<void>;

export interface ActTools {
  readonly random: Random;
  /** Waits for this many calls of others. */
  readonly later: (calls: number) => Promise<void>;
  /** A client only for the act; its calls are checked like all others. */
  client(name: string, more?: { token?: string; sockets?: number; patienceMs?: number }): Client;
  /** A lane that no other client uses. */
  newLane(): string;
  nextMark(): number;
  readonly doors: number;
  /** What was called so far. */
  readonly log: CallLog;
  found(finding: Finding): void;
}

/** What a broken connection between clients and servers looks like, on any database. */
export function connectionActs(nodes: readonly ServerNode[]): Record<string, Act> {
  const each = (act: (node: ServerNode) => void) => {
    for (const node of nodes) act(node);
  };
  return {
    'cut clients': async ({ random }) => random.pick(nodes).proxy.cut(),
    'cut clients half-way': async ({ random }) => each((node) => node.proxy.cutHalfWay(random.int(1, 400))),
    'hold clients half-open': async ({ random, later }) => {
      const { proxy } = random.pick(nodes);
      proxy.hold();
      await later(random.int(5, 20));
      proxy.release();
    },
  };
}

export async function killAndStart(node: ServerNode, { random, later }: ActTools): Promise<void> {
  await node.kill();
  await later(random.int(1, 20));
  await node.start();
}
