import type { Engine, Queryable, Transaction } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import type { Caller } from '../../tokens/caller.ts';
import { sha256 } from '../../tokens/secret.ts';
import type { Tokens } from '../../tokens/tokens.ts';
import type { AgentOf } from './agent-access.ts';
import { hostError, unknownHost } from './errors.ts';
import type { ControlQueries, Host, HostListing } from './queries.ts';
import type { Services } from './services.ts';

/** Hosts and the tokens of their agents. A host is a runner of the engine; its services are the runner's lanes. */
export type Hosts = ReturnType<typeof createHosts>;

export function createHosts(tools: {
  audit: Audit;
  contacts: ChannelContacts;
  engine: Engine;
  queries: ControlQueries;
  services: Services;
  tokens: Tokens;
}) {
  const { audit, contacts, engine, queries, services, tokens } = tools;
  const { db } = engine;

  async function locked(tx: Transaction, caller: Caller, hostId: string): Promise<Host> {
    const host = await queries.lockHost(tx, caller.tenantId, hostId);
    if (!host) throw unknownHost();
    return host;
  }

  async function insert(
    tx: Transaction,
    caller: Caller,
    given: { name: string; slots: number | null; enrolment: Buffer | null },
  ) {
    const { tenantId } = caller;
    const runnerId = await engine.createRunner(tx, tenantId, given.slots);
    const id = await queries.insertHost(tx, { tenantId, runnerId, ...given });
    if (id === null) throw hostError('MUSTER_HOST_EXISTS', 'A host with this name already exists.');
    const agentToken = await issue(tx, caller, { id, name: given.name, runnerId });
    return { id, name: given.name, agentToken };
  }

  function issue(
    tx: Queryable,
    { tenantId, name: createdBy }: Caller,
    { id, name, runnerId }: Pick<Host, 'id' | 'name' | 'runnerId'>,
  ): Promise<string> {
    const restriction: AgentOf = { hostId: id, runnerId };
    return tokens.issueFor(tx, { tenantId, kind: 'agent', owner: id, name, restriction, createdBy });
  }

  return {
    create: (caller: Caller, given: { name: string; slots: number | null }) =>
      audit.change(
        caller,
        (tx) => insert(tx, caller, { ...given, enrolment: null }),
        (host) => ({ act: 'host.create', target: `host ${host.id}`, detail: given }),
      ),

    /** A host registers itself. With the secret of its first registration it gets a new token for the same host. */
    enrol: (caller: Caller, given: { name: string; secret?: string | undefined }) =>
      audit.change(
        caller,
        async (tx) => {
          const enrolment = given.secret === undefined ? null : sha256(given.secret);
          const known = enrolment && (await queries.findEnrolled(tx, caller.tenantId, enrolment));
          const host = known
            ? { id: known.id, name: known.name, agentToken: await issue(tx, caller, known) }
            : await insert(tx, caller, { name: given.name, slots: null, enrolment });
          return host;
        },
        (host) => ({ act: 'host.enrol', target: `host ${host.id}`, detail: { name: given.name } }),
      ),

    async get(caller: Caller, hostId: string): Promise<Host> {
      const host = await queries.getHost(db, caller.tenantId, hostId);
      if (!host) throw unknownHost();
      return host;
    },

    instances: ({ tenantId, id }: Host) => contacts.instances(db, tenantId, id),

    list: (caller: Caller, page: HostListing) => queries.listHosts(db, caller.tenantId, page),

    update: (
      caller: Caller,
      hostId: string,
      to: { name?: string | undefined; slots?: number | null | undefined },
    ) =>
      audit.change(
        caller,
        async (tx) => {
          const host = await locked(tx, caller, hostId);
          if (to.name !== undefined && !(await queries.renameHost(tx, caller.tenantId, hostId, to.name)))
            throw hostError('MUSTER_HOST_EXISTS', 'A host with this name already exists.');
          if (to.slots !== undefined) await engine.setSlots(tx, caller.tenantId, host.runnerId, to.slots);
        },
        { act: 'host.update', target: `host ${hostId}`, detail: to },
      ),

    rotate: (caller: Caller, hostId: string) =>
      audit.change(
        caller,
        async (tx) => {
          const host = await locked(tx, caller, hostId);
          const agentToken = await issue(tx, caller, host);
          return { id: host.id, name: host.name, agentToken };
        },
        { act: 'token.rotate', target: `host ${hostId}` },
      ),

    revoke: (caller: Caller, hostId: string) =>
      audit.change(
        caller,
        async (tx) => {
          await locked(tx, caller, hostId);
          if ((await tokens.revokeOf(tx, caller.tenantId, 'agent', [hostId])) === 0)
            throw hostError('MUSTER_NO_AGENT_TOKEN', 'This host has no valid token.');
        },
        { act: 'token.revoke', target: `host ${hostId}` },
      ),

    /** All its unfinished actions end, and its agent's token is rejected. */
    remove: (caller: Caller, hostId: string) =>
      audit.change(
        caller,
        async (tx) => {
          const host = await locked(tx, caller, hostId);
          await tokens.revokeOf(tx, caller.tenantId, 'agent', [hostId]);
          for (const service of await queries.listServices(tx, caller.tenantId, hostId))
            await services.removeInside(tx, service);
          await queries.deleteHost(tx, caller.tenantId, hostId);
          await contacts.forget(tx, caller.tenantId, hostId);
          return host;
        },
        (host) => ({ act: 'host.delete', target: `host ${hostId}`, detail: { name: host.name } }),
      ),
  };
}
