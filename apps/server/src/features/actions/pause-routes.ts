import { api } from '@muster/contracts';
import { type Engine, EngineError } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import { pauseNote } from '../../events/pause-note.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { Lanes } from './lanes.ts';

type Verb = 'pause' | 'resume';

/** Pausing and resuming: a lane by operators, a tag or everything by admins. Running actions go on. */
export function pauseRoutes(tools: { audit: Audit; engine: Engine; lanes: Lanes }): Route[] {
  const { audit, engine, lanes } = tools;

  const ofLane = (verb: Verb, act: Act) =>
    defineRoute(verb === 'pause' ? api.actions.pauseLane : api.actions.resumeLane, {
      access: operators('operator'),
      async handler({ body, caller, params: { lane } }) {
        const { tenantId } = caller;
        const laneId = await lanes.find(tenantId, lane);
        if (laneId === null) throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no lane with this name.');
        await audit.change(
          caller,
          async (tx) => {
            if (verb === 'pause') await engine.pauseLane(tx, { tenantId, laneId, by: caller.name });
            else await engine.resumeLane(tx, { tenantId, laneId });
            await engine.note(tx, [pauseNote(tenantId, verb === 'pause', { laneId })]);
          },
          { act, target: `lane ${lane}`, detail: { reason: body.reason } },
        );
        return { lane, paused: verb === 'pause' };
      },
    });

  const ofTag = (verb: Verb, actOfTag: Act, actOfAll: Act) =>
    defineRoute(verb === 'pause' ? api.actions.pause : api.actions.resume, {
      access: operators('admin'),
      async handler({ body, caller }) {
        const scope = { tenantId: caller.tenantId, ...(body.tag === undefined ? {} : { tag: body.tag }) };
        await audit.change(
          caller,
          async (tx) => {
            if (verb === 'pause') await engine.pause(tx, { ...scope, by: caller.name });
            else await engine.resume(tx, scope);
            await engine.note(tx, [pauseNote(caller.tenantId, verb === 'pause', { tag: body.tag })]);
          },
          body.tag === undefined
            ? { act: actOfAll, target: 'everything' }
            : { act: actOfTag, target: `tag ${body.tag}` },
        );
        return { tag: body.tag ?? null, paused: verb === 'pause' };
      },
    });

  return [
    ofLane('pause', 'lane.pause'),
    ofLane('resume', 'lane.resume'),
    ofTag('pause', 'tag.pause', 'tenant.pause'),
    ofTag('resume', 'tag.resume', 'tenant.resume'),
  ];
}
