import { ACTION_TYPES, type ActionType, type Role } from '@muster/contracts/words';
import { GraphQLScalarType } from 'graphql';
import type { Config } from '../../../config.ts';
import { gatherReads } from '../../../database/gathered-reads.ts';
import type { Shell } from '../../../feature.ts';
import { httpError } from '../../../http/errors.ts';
import { isId } from '../../../http/ids.ts';
import type { Changes } from '../changes.ts';
import { pipelineError } from '../errors.ts';
import type { Templates } from '../templates.ts';
import { typeOf } from '../transitions.ts';
import { DEFAULT_PER_PAGE, MOST_PER_PAGE } from './limits.ts';
import { type execution, isUuid, type Reads } from './reads.ts';
import { type Args, type Context, inTurn, type Resolve, refusable } from './refusals.ts';
import { stateChanges } from './state-changes.ts';

interface Tools extends Pick<Shell, 'db' | 'engine' | 'events' | 'fleet' | 'streamPlaces'> {
  readonly changes: Changes;
  readonly config: Config;
  readonly reads: Reads;
  readonly templates: Templates;
}

const each = (role: Role, resolvers: Record<string, Resolve>, reads = true) =>
  Object.fromEntries(
    Object.entries(resolvers).map(([name, resolve]) => [name, refusable(role, resolve, reads)]),
  );

const inTurns = (resolvers: Record<string, Parameters<typeof inTurn>[0]>) =>
  Object.fromEntries(Object.entries(resolvers).map(([name, resolve]) => [name, inTurn(resolve)]));

/** An explicit null means the same as a missing argument. */
const assignment = (args: Args) =>
  Object.assign({}, args, {
    offline: args.offline ?? 'QUEUE',
    whenBusy: args.whenBusy ?? 'REJECT',
    priority: args.priority ?? 'NORMAL',
  });

const wireType = (type: ActionType) => ({
  ...type,
  id: String(type.id),
  isAssignable: type.way !== 'device' && type.from.length > 0,
});

function atMost(name: 'first' | 'last', given: number | null | undefined): number {
  const asked = given ?? DEFAULT_PER_PAGE;
  if (asked < 1 || asked > MOST_PER_PAGE)
    throw httpError('MUSTER_BAD_REQUEST', `${name} must be from 1 to ${MOST_PER_PAGE}.`);
  return asked;
}

/** Nothing that can be found is longer. */
const LONGEST_SOUGHT = 1_000;

function sought(name: 'search' | 'tag', given: string | null | undefined): string | null {
  if (given && given.length > LONGEST_SOUGHT)
    throw httpError('MUSTER_BAD_REQUEST', `${name} must have at most ${LONGEST_SOUGHT} characters.`);
  return given ?? null;
}

function page(
  context: Context,
  { first, after }: { first?: number | null; after?: string | null },
  isCursor = isId,
) {
  if (typeof after === 'string' && !isCursor(after))
    throw httpError('MUSTER_BAD_REQUEST', 'after must be a cursor from an earlier page.');
  return {
    tenantId: context.caller.tenantId,
    first: atMost('first', first),
    after: after ?? null,
  };
}

export function createResolvers(tools: Tools) {
  const { changes, config, db, engine, events, fleet, reads, streamPlaces: places, templates } = tools;
  const executionsOf = gatherReads(
    db,
    (wanted: readonly { tenantId: number; actionId: string; last: number }[]) =>
      reads.executionsOf(db, wanted),
    2,
  );

  return {
    DateTime: new GraphQLScalarType({
      name: 'DateTime',
      serialize: (value) => (value instanceof Date ? value.toISOString() : value),
    }),
    JSON: new GraphQLScalarType({ name: 'JSON', serialize: (value) => value }),

    Query: {
      ...each('viewer', { actionTypes: () => ACTION_TYPES.map(wireType) }),
      ...each(
        'viewer',
        inTurns({
          device: async (_, { id }, { caller }) => reads.device(db, caller.tenantId, id),
          devices: async (_, args, context) =>
            reads.devices(db, page(context, args), {
              ...{ policy: args.policy ?? null, tag: sought('tag', args.tag) },
              search: sought('search', args.search),
            }),
          execution: async (_, { id }, { caller }) => reads.execution(db, caller.tenantId, id),
          executions: async (_, args, context) =>
            reads.executions(db, page(context, args, isUuid), {
              ...{ deviceId: args.deviceId ?? null, status: args.status ?? null },
            }),
          batch: async (_, { id }, { caller }) => reads.batch(db, caller.tenantId, id),
          batches: async (_, args, context) => reads.batches(db, page(context, args)),
          messageTemplate: async (_, { id }, { caller }) =>
            (await templates.find(db, caller.tenantId, [id])).get(id) ?? null,
          async messageTemplates(_, args, context) {
            const { tenantId, first, after } = page(context, args);
            const rows = await templates.list(db, tenantId, {
              ...{ after, limit: first + 1, isActive: args.isActive ?? null },
            });
            return { nodes: rows.slice(0, first), cursor: rows.length > first ? rows[first - 1]?.id : null };
          },
          async milestones(_, args, context) {
            const { tenantId, first, after } = page(context, args);
            const { deviceId } = args;
            if (!isId(deviceId) || !(await reads.device(db, tenantId, deviceId)))
              throw pipelineError('DEVICE_NOT_FOUND', 'There is no device with this id.');
            const before = after ?? undefined;
            const rows = await fleet.milestonesOf(db, tenantId, deviceId, { before, limit: first + 1 });
            return { nodes: rows.slice(0, first), cursor: rows.length > first ? rows[first - 1]?.id : null };
          },
        }),
      ),
    },

    Action: {
      type: ({ typeId }: Args) => wireType(typeOf(typeId) as ActionType),
      executions: refusable(
        'viewer',
        (parent: ReturnType<typeof execution>['action'], { last }, { caller }) =>
          executionsOf({ tenantId: caller.tenantId, actionId: parent.id, last: atMost('last', last) }),
      ),
    },
    Batch: {
      devices: refusable(
        'viewer',
        inTurn(async (parent, args, context) =>
          reads.batchDevices(db, parent.id, page(context, args), args.status ?? null),
        ),
      ),
    },

    Mutation: {
      ...each(
        'operator',
        {
          assignAction: (_, args, { caller }) => changes.assignAction(caller, assignment(args)),
          createMessageTemplate: (_, args, { caller }) => changes.createTemplate(caller, args),
          updateMessageTemplate: (_, { id, ...given }, { caller }) =>
            changes.updateTemplate(caller, id, given),
          setMessageTemplateActive: (_, { id, isActive }, { caller }) =>
            changes.updateTemplate(caller, id, { isActive }),
        },
        false,
      ),
      ...each(
        config.MUSTER_BULK_ROLE,
        {
          assignBulkAction: (_, args, { caller }) => changes.assignBulkAction(caller, assignment(args)),
        },
        false,
      ),
    },

    Subscription: {
      deviceStateChanged: {
        subscribe: refusable('viewer', async (_, { deviceId }, { caller, signal }) => {
          if (deviceId != null && !(isId(deviceId) && (await reads.device(db, caller.tenantId, deviceId))))
            throw pipelineError('DEVICE_NOT_FOUND', 'There is no device with this id.');
          const leave = places.enter(caller.tenantId);
          let isOver = false;
          const end = () => {
            if (!isOver) leave();
            isOver = true;
          };
          try {
            // from this moment, however long it takes until the client reads
            const cursor = await engine.feed.cursor(db, 'end');
            const from = { tenantId: caller.tenantId, cursor, signal: signal ?? null };
            return stateChanges(events, from, deviceId ?? null, end);
          } catch (error) {
            end();
            throw error;
          }
        }),
      },
    },
  };
}
