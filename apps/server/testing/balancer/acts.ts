import { setTimeout as pause } from 'node:timers/promises';
import { finding } from '../torture/finding.ts';
import type { Act, ActTools } from '../torture/stage.ts';
import { handedOut } from '../torture/told.ts';
import { enqueueSurely, GRACE_MS, park } from '../torture/wake-acts.ts';
import type { Haproxy } from './haproxy.ts';
import type { BalancedNode } from './node.ts';
import { isLoss, judge, type Witness } from './witness.ts';

/** What happens to nodes behind the balancer, one after the other; each act ends when all nodes take requests again. */
export interface Stagehands {
  readonly nodes: readonly BalancedNode[];
  readonly balancer: Haproxy;
  readonly witness: Witness;
  /** MUSTER_DRAIN_SECONDS of the nodes. */
  readonly drainSeconds: number;
}

/** Enough that, with three nodes, some wait at one node for what another one takes in. */
const PROBES = 16;
const BETWEEN_MS = 20;

export function balancerActs(stage: Stagehands): Record<string, Act> {
  const { balancer, nodes } = stage;
  const any = ({ random }: ActTools) => random.int(0, nodes.length - 1);
  return {
    'kill a node': async (on) => {
      const n = any(on);
      const node = nodes[n] as BalancedNode;
      await node.kill();
      await node.start();
      await balancer.thinks(n, 'UP');
    },
    'stop a node': (on) => stopFor(stage, any(on), 0),
    'drain a node': (on) => drain(stage, any(on), on),
    'wake at another node': wakeAnywhere,
  };
}

export function slowBalancerActs(stage: Stagehands): Record<string, Act> {
  return { 'stop a node for 20 s': (on) => stopFor(stage, on.random.int(0, 2), 20_000) };
}

async function stopFor({ balancer, nodes }: Stagehands, n: number, ms: number): Promise<void> {
  const node = nodes[n] as BalancedNode;
  node.freeze();
  await Promise.all([pause(ms), balancer.thinks(n, 'DOWN')]);
  node.thaw();
  await balancer.thinks(n, 'UP');
}

/** Told to stop, it finishes what it has; then the given program takes its place. No call may be lost. */
export async function drain(
  { balancer, drainSeconds, nodes, witness }: Stagehands,
  n: number,
  { found, log }: Pick<ActTools, 'found' | 'log'>,
  program?: readonly string[],
): Promise<void> {
  const node = nodes[n] as BalancedNode;
  const from = log.tick();
  const lossesBefore = witness.losses.length;
  const since = performance.now();
  const stopping = node.stop();
  const impatience = balancer.impatience();
  // Not judged: a balancer that was too busy to ask in time, or ended the sessions of a node, this one or another, that was too
  // busy to answer it, which no node can help; and a version that does not drain.
  let isKnown = false;
  const isInTime = () => performance.now() - since < drainSeconds * 1_000;
  while (!isKnown && isInTime()) {
    isKnown = (await isOut(balancer, n, node)) && isInTime();
    await pause(BETWEEN_MS);
  }
  await stopping;
  await node.start(program);
  await balancer.thinks(n, 'UP');
  if (!isKnown || balancer.impatience() > impatience) return;
  witness.drains += 1;
  const lost = log.calls.filter(
    ({ ended, error }) => ended !== null && ended > from && error !== null && isLoss(seenIn(error)),
  );
  for (const { error, n: call, op } of lost)
    found(finding('G87', null, `call ${call} (${op}) was lost while ${node.name} drained: ${error}`));
  for (const loss of witness.losses.slice(lossesBefore))
    found(finding('G87', null, `lost while ${node.name} drained: ${loss}`));
}

/**
 * The balancer sends it nothing more, and it has read all that was sent before: each is asked again after the first answer, and
 * takes what came before.
 */
async function isOut(balancer: Haproxy, n: number, node: BalancedNode): Promise<boolean> {
  for (let times = 0; times < 3; times += 1)
    if (!(await balancer.opinionOf(n)).startsWith('NOLB')) return false;
  return (await saysDraining(node)) && (await saysDraining(node));
}

async function saysDraining({ port }: BalancedNode): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
  return (await answer?.text())?.includes('MUSTER_DRAINING') ?? false;
}

/** An error of the clients' log: "503 <text>", or what broke the connection. */
export function seenIn(error: string) {
  const [, status, text = ''] = /^(5\d\d) (.*)$/s.exec(error) ?? [];
  return status === undefined ? judge(null, error) : judge(Number(status), text);
}

/** Claims wait at all nodes, and what they wait for comes in at any of them. */
const wakeAnywhere: Act = async (on) => {
  const lanes = Array.from({ length: PROBES }, () => on.newLane());
  const waiting = lanes.map(async (lane) => ({
    lane,
    call: await park(on, lane, 0),
    answeredAt: performance.now(),
  }));
  await on.later(on.random.int(3, 10));
  await Promise.all(lanes.map((lane) => enqueueSurely(on, lane, 0)));
  const overAt = performance.now();
  for (const { answeredAt, call, lane } of await Promise.all(waiting))
    if (call.status === 200 && handedOut(call).length === 0 && answeredAt > overAt + GRACE_MS)
      on.found(finding('G39', null, `call ${call.n} waited in ${lane} and missed what another node took in`));
};

export const wakeActs = { 'wake at another node': wakeAnywhere };
