import type { TestCertificate } from '@muster/mdm/simulation';
import type { Finding } from '../../torture/finding.ts';
import type { Random } from '../../torture/random.ts';
import type { Witness } from '../witness.ts';
import { Caller } from './caller.ts';
import { playCheckins } from './checkins.ts';
import { playHosts } from './hosts.ts';
import type { Part, Playing } from './part.ts';
import { orders, phones } from './phones-and-orders.ts';
import { pipeline } from './pipeline.ts';
import { followConsole, followEvents } from './streams.ts';
import { playTasks } from './tasks.ts';

/** Clients of every door behind the balancer, in a tenant of their own, and followers of all they do. */
export async function playAllDoors(options: {
  readonly url: string;
  readonly witness: Witness;
  /** Of an admin of the default tenant. */
  readonly token: string;
  readonly issuer: TestCertificate;
  readonly random: Random;
  isOver(): boolean;
}): Promise<Finding[]> {
  const { isOver, issuer, random, token, url, witness } = options;
  const caller = new Caller(url, witness);
  const newTenant = () => tenant(caller, token, `tenant ${random.next()}`);
  const own = await newTenant();
  const playing = (name: string): Playing => ({
    ...{ caller, isOver, newTenant },
    token: own,
    random: random.fork(name),
  });
  const followers = [await followEvents(playing('events')), await followConsole(playing('console'))];
  const parts: Record<string, Part> = {
    ...{ hosts: playHosts, checkins: playCheckins, tasks: playTasks, orders },
    ...{ phones: phones(issuer), pipeline: pipeline(issuer) },
  };
  const found = await Promise.all(Object.entries(parts).map(([name, part]) => part(playing(name))));
  const told = await Promise.all(followers.map((follower) => follower.finish()));
  return [...found, ...told].flat();
}

/** The token of its admin. One without an answer may have been made: the next one has another name. */
async function tenant(caller: Caller, token: string, name: string): Promise<string> {
  for (let n = 0; ; n += 1) {
    const made = await caller.once('POST', '/api/tenants', { token, body: { name: `${name} ${n}` } });
    if (made?.status !== 201) continue;
    for (;;) {
      const body = { kind: 'operator', role: 'admin', name: 'the load' };
      const admin = await caller.once('POST', `/api/tenants/${made.body.id}/tokens`, { token, body });
      if (admin?.status === 201) return admin.body.token;
    }
  }
}
