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

export interface ReasonLook {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly dashed?: true;
  /** In two or three words, for a heading or a bar. */
  readonly short: string;
}

const CLOCK = { icon: Timer, tone: 'plum' } as const;
const HELD = { icon: Pause, tone: 'amber' } as const;
const RULE = { icon: Lock, tone: 'amber' } as const;
const LINE = { icon: ListOrdered, tone: 'slate' } as const;
const AWAY = { icon: WifiOff, tone: 'slate', dashed: true } as const;

/** How each reason looks. A code that a newer server has is shown by its text. */
const LOOKS: Readonly<Record<string, ReasonLook>> = {
  RETRY: { icon: RotateCcw, tone: 'plum', short: 'retry' },
  NOT_BEFORE: { ...CLOCK, short: 'not before' },
  NOT_NOW: { ...CLOCK, short: 'not now' },
  LANE_PAUSED: { ...HELD, short: 'lane paused' },
  TAG_PAUSED: { ...HELD, short: 'tag paused' },
  TENANT_PAUSED: { ...HELD, short: 'everything paused' },
  LANE_BLOCKED: { ...RULE, short: 'lane blocked' },
  TASK_NOT_ACTIVE: { ...RULE, short: 'behind a task' },
  NO_PC: { ...RULE, short: 'no PC' },
  SERVICE_DELETED: { ...RULE, short: 'service deleted' },
  DEVICE_DELETED: { ...RULE, short: 'device deleted' },
  CANCEL_REQUESTED: { ...HELD, short: 'stop requested' },
  DEVICE_IN_ERROR: { icon: TriangleAlert, tone: 'red', short: 'in error' },
  BEHIND: { ...LINE, short: 'behind another' },
  BEHIND_URGENT: { ...LINE, short: 'behind an urgent one' },
  NO_FREE_SLOT: { ...LINE, short: 'no free slot' },
  NEXT_CONTACT: { icon: PhoneIncoming, tone: 'slate', short: 'next contact' },
  OFFLINE: { ...AWAY, short: 'away' },
  DEVICE_ABSENT: { ...AWAY, short: 'absent' },
  RUNNING: { icon: Timer, tone: 'blue', short: 'running' },
};

export function lookOf(code: string): ReasonLook {
  return LOOKS[code] ?? { icon: ListOrdered, tone: 'slate', short: code.toLowerCase().replaceAll('_', ' ') };
}

/** Nothing to press, but good to know. */
const PATIENCE: Readonly<Record<string, string>> = {
  OFFLINE: 'Nothing to press: it goes out when its target comes.',
  DEVICE_ABSENT: 'Nothing to press: it goes out when its PC sees it again.',
  NEXT_CONTACT: 'Nothing to press: it goes out with the next contact.',
  NO_FREE_SLOT: 'Nothing to press: it goes out when a slot is free.',
  RETRY: 'Nothing to press: it goes out by itself at that time.',
  NOT_NOW: 'Nothing to press: it is offered again.',
};

export function patienceOf(code: string): string | undefined {
  return PATIENCE[code];
}

const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** The sentence in parts: the server's text with its times as times, and the action that it names as a link. */
export type Part = { readonly text: string } | { readonly at: string } | { readonly actionId: string };

export function partsOf(reason: Pick<WaitingFor, 'text' | 'actionId'>): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const match of reason.text.matchAll(ISO)) {
    parts.push({ text: reason.text.slice(from, match.index) }, { at: match[0] });
    from = match.index + match[0].length;
  }
  parts.push({ text: reason.text.slice(from) });
  const { actionId } = reason;
  if (actionId === undefined) return parts;
  return parts.flatMap((part) => ('text' in part ? linked(part.text, actionId) : [part]));
}

function linked(text: string, actionId: string): Part[] {
  const at = text.search(new RegExp(`\\b${actionId}\\b`));
  if (at < 0) return [{ text }];
  return [{ text: text.slice(0, at) }, { actionId }, { text: text.slice(at + actionId.length) }];
}
