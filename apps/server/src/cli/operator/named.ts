import type { Action } from '@muster/contracts';
import { NotFoundError, UsageError } from './exit-codes.ts';
import { pages } from './run.ts';
import type { Session } from './session.ts';

/** Translates names given by people into ids. */
const isId = (text: string) => /^\d+$/.test(text);

/** By id, or by the whole name if only one device has it. */
export async function deviceIdOf(session: Session, device: string): Promise<string> {
  if (isId(device)) return device;
  const { body } = await session.client.devices.list({ query: { text: device, limit: 500 } });
  const [first, second] = body.devices.filter(({ name }) => name === device);
  if (!first)
    throw new NotFoundError(`No device is called ${device}. Search with "muster device list --text …".`);
  if (second) throw new UsageError(`Several devices are called ${device}. Give an id, such as ${first.id}.`);
  return first.id;
}

/** By id, or by name, which is unique. */
export async function hostIdOf(session: Session, host: string): Promise<string> {
  if (isId(host)) return host;
  const { rows } = await pages(
    async (place) => {
      const { body } = await session.client.hosts.list({ query: place });
      return { rows: body.hosts, cursor: body.cursor };
    },
    { all: true, limit: 500 },
  );
  const found = rows.find(({ name }) => name === host);
  if (!found) throw new NotFoundError(`No host is called ${host}. List hosts with "muster host list".`);
  return found.id;
}

export async function pcIdOf(session: Session, pc: string): Promise<string> {
  if (isId(pc)) return pc;
  const { rows } = await pages(
    async (place) => {
      const { body } = await session.client.pcs.list({ query: place });
      return { rows: body.pcs, cursor: body.cursor };
    },
    { all: true, limit: 500 },
  );
  const found = rows.find(({ name }) => name === pc);
  if (!found) throw new NotFoundError(`No PC is called ${pc}. List PCs with "muster pc list".`);
  return found.id;
}

/** As many ids as one request takes. */
const IDS_AT_ONCE = 100;

/** The actions with these ids, in their order, as every door's actions are shown: with the names of target and worker. */
export async function actionsOf(session: Session, of: readonly { readonly id: string }[]): Promise<Action[]> {
  const found = new Map<string, Action>();
  for (let at = 0; at < of.length; at += IDS_AT_ONCE) {
    const ids = of.slice(at, at + IDS_AT_ONCE).map(({ id }) => id);
    const { body } = await session.client.actions.list({ query: { ids, limit: IDS_AT_ONCE } });
    for (const action of body.actions) found.set(action.id, action);
  }
  return of.flatMap(({ id }) => found.get(id) ?? []);
}

interface Lane {
  readonly lane?: string;
  readonly space?: string;
}

/** The lane of a device, or a lane as TARGET shows it; `night-jobs` is short for `generic:night-jobs`. */
export async function laneOf(
  session: Session,
  { device, lane }: { readonly device?: string; readonly lane?: string },
): Promise<Lane> {
  if (device !== undefined && lane !== undefined) throw new UsageError('Give --device or --lane, not both.');
  if (device !== undefined) {
    const params = { id: await deviceIdOf(session, device) };
    const { body } = await session.client.devices.get({ params });
    return { space: 'device', lane: body.id };
  }
  if (lane === undefined) return {};
  const colon = lane.indexOf(':');
  const written = { space: lane.slice(0, colon), lane: lane.slice(colon + 1) };
  // the name of a generic lane may also contain a colon
  for (const one of [{ lane }, ...(colon > 0 && written.lane !== '' ? [written] : [])]) {
    const { body } = await session.client.actions.list({ query: { ...one, limit: 1 } });
    if (body.actions.length > 0) return one;
  }
  // an empty lane is deleted after a while, so the server cannot tell the difference either
  throw new NotFoundError(
    `There are no actions in lane ${lane}. Write the lane as the column TARGET of "muster action list" shows it, or use --device.`,
  );
}
