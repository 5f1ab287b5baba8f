import type { WaitingFor } from '@muster/contracts';
import {
  ListOrdered,
  Lock,
  type LucideIcon,
  Pause,
  PhoneIncoming,
  RotateCcw,
  Timer,
  TriangleAlert,
  WifiOff,
} from 'lucide-react';
import type { Tone } from '../ui/tones.ts';
import { timesIn } from './times-in.ts';

export interface ReasonLook {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly dashed?: true;
  /** Two or three words, for a heading or a bar. */
  readonly short: string;
}

const CLOCK = { icon: Timer, tone: 'plum' } as const;
const HELD = { icon: Pause, tone: 'amber' } as const;
const RULE = { icon: Lock, tone: 'amber' } as const;
const LINE = { icon: ListOrdered, tone: 'slate' } as const;
const OFFLINE = { icon: WifiOff, tone: 'slate', dashed: true } as const;

/** How each reason looks. An unknown code of a newer server is shown by its text. */
const LOOKS: Readonly<Record<string, ReasonLook>> = {
  RETRY: { icon: RotateCcw, tone: 'plum', short: 'retry' },
  NOT_BEFORE: { ...CLOCK, short: 'not before' },
  NOT_NOW: { ...CLOCK, short: 'not now' },
  LANE_PAUSED: { ...HELD, short: 'lane paused' },
  TAG_PAUSED: { ...HELD, short: 'tag paused' },
  TENANT_PAUSED: { ...HELD, short: 'everything paused' },
  WEBHOOK_PAUSED: { ...HELD, short: 'webhook paused' },
  LANE_BLOCKED: { ...RULE, short: 'lane blocked' },
  TASK_NOT_ACTIVE: { ...RULE, short: 'behind a task' },
  NO_PC: { ...RULE, short: 'no PC' },
  SERVICE_DELETED: { ...RULE, short: 'service deleted' },
  DEVICE_DELETED: { ...RULE, short: 'device deleted' },
  CANCEL_REQUESTED: { ...HELD, short: 'stop requested' },
  DEVICE_IN_ERROR: { icon: TriangleAlert, tone: 'red', short: 'in error' },
  BEHIND: { ...LINE, short: 'behind another' },
  BEHIND_URGENT: { ...LINE, short: 'behind an urgent one' },
  NO_BOT: { ...LINE, short: 'no bot' },
  NO_FREE_BOT: { ...LINE, short: 'no free bot' },
  NO_FREE_SLOT: { ...LINE, short: 'no free slot' },
  NEXT_CONTACT: { icon: PhoneIncoming, tone: 'slate', short: 'next contact' },
  OFFLINE: { ...OFFLINE, short: 'offline' },
  PUSHED: { ...OFFLINE, short: 'asleep, pushed' },
  PUSH_DUE: { ...LINE, short: 'push due' },
  PUSH_NOT_ACCEPTED: { icon: RotateCcw, tone: 'plum', short: 'push not accepted' },
  PUSHES_STOPPED: { ...RULE, short: 'pushes stopped' },
  NO_PUSH_TOKEN: { ...RULE, short: 'no push token' },
  PUSH_TOKEN_DEAD: { icon: TriangleAlert, tone: 'red', short: 'cannot be woken up' },
  PHONE_LEFT: { ...RULE, short: 'phone left' },
  DEVICE_ABSENT: { ...OFFLINE, short: 'absent' },
  RUNNING: { icon: Timer, tone: 'blue', short: 'running' },
};

export function lookOf(code: string): ReasonLook {
  return LOOKS[code] ?? { icon: ListOrdered, tone: 'slate', short: code.toLowerCase().replaceAll('_', ' ') };
}

/** What to do, or that there is nothing to do. */
const PATIENCE: Readonly<Record<string, string>> = {
  BEHIND: 'Nothing to do: it goes out after that one.',
  BEHIND_URGENT: 'Nothing to do: it goes out after that one.',
  OFFLINE: 'Nothing to do: it goes out when its target connects.',
  DEVICE_ABSENT: 'Nothing to do: it goes out when its PC reports the device present again.',
  DEVICE_IN_ERROR: 'An operator checks the device and clears the error.',
  DEVICE_DELETED: 'Nothing to do: it ends by itself.',
  SERVICE_DELETED: 'Nothing to do: it ends by itself.',
  NEXT_CONTACT: 'Nothing to do: it goes out with the next contact.',
  NO_BOT: 'Add a bot on the Orders page; then it goes out.',
  NO_FREE_BOT: 'Nothing to do: it goes out when a bot is free.',
  NO_FREE_SLOT: 'Nothing to do: it goes out when a slot is free.',
  NO_PC: 'Assign the device to a PC; then it goes out.',
  TASK_NOT_ACTIVE: 'Nothing to do: it goes out when its task is active.',
  PUSHED: 'Nothing to do: it goes out when the phone connects; until then it is pushed again.',
  PUSH_DUE: 'Nothing to do: it goes out when the phone connects.',
  PUSH_NOT_ACCEPTED: 'Nothing to do: it is pushed again.',
  PUSHES_STOPPED: 'Look at the push certificate (Phones); pushes are tried again every five minutes.',
  NO_PUSH_TOKEN: 'The user of the phone completes the enrolment on it.',
  PUSH_TOKEN_DEAD:
    'The phone can be woken again when it sends its next token, or after it is enrolled with a new profile.',
  PHONE_LEFT: 'Enrol it again with a new profile.',
  LANE_BLOCKED: 'It goes out when the lane is no longer blocked.',
  LANE_PAUSED: 'An operator resumes the lane.',
  TAG_PAUSED: 'An admin resumes the tag.',
  TENANT_PAUSED: 'An admin resumes everything.',
  WEBHOOK_PAUSED: 'An admin resumes the webhook.',
  RETRY: 'Nothing to do: it goes out by itself at that time.',
  NOT_BEFORE: 'Nothing to do: it goes out at that time.',
  NOT_NOW: 'Nothing to do: it is offered again.',
};

export function patienceOf({ code, tag }: WaitingFor): string | undefined {
  return batchOf(tag) === undefined ? PATIENCE[code] : 'An operator resumes the batch.';
}

/** Actions of a batch have its tag, so a pause of that tag is a pause of the batch. */
export function batchOf(tag: string | null | undefined): string | undefined {
  return /^batch:(\d+)$/.exec(tag ?? '')?.[1];
}

/** A sentence in parts: times are live and have a zone, the action or tag that it names is a link. */
export type Part =
  | { readonly text: string }
  | { readonly at: string }
  | { readonly actionId: string }
  | { readonly batchId: string }
  | { readonly taskId: string }
  | { readonly tag: string };

/** Written from the facts, if the server sends them; else its own text, with its times as times. */
export function partsOf(reason: WaitingFor): Part[] {
  const { actionId, attempt, by, of, running, slots, tag, until } = reason;
  const said = (...parts: (Part | string)[]) =>
    parts.map((part) => (typeof part === 'string' ? { text: part } : part));
  switch (reason.code) {
    case 'RETRY':
      if (until && attempt !== undefined && of !== undefined)
        return said(`Retry ${attempt} of ${of} at `, { at: until });
      break;
    case 'NOT_BEFORE':
      if (until) return said('Not before ', { at: until });
      break;
    case 'NOT_NOW':
      if (until) return said('It said “not now”; offered again at ', { at: until });
      break;
    case 'TAG_PAUSED':
      if (tag !== undefined) {
        const batchId = batchOf(tag);
        const what = batchId === undefined ? ['Tag ', { tag }] : ['Batch ', { batchId }];
        return said(...what, ' is paused', ...whoAndWhen(reason));
      }
      break;
    case 'TENANT_PAUSED':
      return said('Everything is paused', ...whoAndWhen(reason));
    case 'LANE_PAUSED':
      return said('Its lane is paused', ...whoAndWhen(reason));
    case 'BEHIND':
      if (actionId !== undefined) return said('Behind action ', { actionId });
      break;
    case 'BEHIND_URGENT':
      if (actionId !== undefined) return said('Behind urgent action ', { actionId });
      break;
    case 'PUSHED':
      if (reason.since)
        return said(
          'The phone is asleep: last pushed ',
          { at: reason.since },
          ...(attempt !== undefined && attempt > 1 ? [` (${attempt} times)`] : []),
          ...(until ? [', next push at ', { at: until }] : []),
        );
      break;
    case 'TASK_NOT_ACTIVE': {
      const [, before, taskId, after] = /^(.*task )(\d+)(.*?)\.?$/i.exec(reason.text) ?? [];
      if (before !== undefined && taskId !== undefined) return said(before, { taskId }, after ?? '');
      break;
    }
    case 'NO_FREE_SLOT':
      if (running !== undefined && slots !== undefined)
        return said(`No free slot: ${running} of ${slots} are busy`);
      break;
    case 'RUNNING':
      if (reason.since)
        return said(
          `With ${by === undefined ? 'its worker' : shortOf(by)} since `,
          { at: reason.since },
          ...(attempt !== undefined && of !== undefined ? [`, attempt ${attempt} of ${of}`] : []),
        );
      break;
    case 'CANCEL_REQUESTED':
      return said(
        `Asked to stop; ${by ?? 'its worker'} has not answered yet`,
        ...(until ? [', at the latest at ', { at: until }] : []),
      );
  }
  return asTold(reason);
}

/** A generated worker name is cut to its beginning. */
export function shortOf(name: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(name) ? `${name.slice(0, 8)}…` : name;
}

function whoAndWhen({ by, since }: WaitingFor): (Part | string)[] {
  return [
    ...(by === undefined ? [] : [` by ${by}`]),
    ...(since === undefined ? [] : [' since ', { at: since }]),
  ];
}

/** A reason of a door, or of a newer server. */
function asTold({ text }: WaitingFor): Part[] {
  return timesIn(text.replace(/\.$/, ''));
}
