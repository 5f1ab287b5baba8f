import type { RedriveFilter, RedrivenMatching } from '@muster/contracts';
import type { Confirmation } from '../ui/confirm.tsx';
import { TextLink } from '../ui/link.tsx';
import { count, counted } from '../words/numbers.ts';
import { ask } from './ask.ts';
import { useAct } from './use-act.ts';

const MOST_NAMED = 12;
type Refusal = RedrivenMatching['refusals'][number];
type Kept = Refusal & { readonly device: NonNullable<Refusal['device']> };

/** Redrives dead letters. Those of devices in error are left, with an offer to clear the errors too. */
export function useRedrive(open: (asked: Confirmation) => void) {
  const { act, busy } = useAct();
  const redrive = async (body: RedriveFilter): Promise<RedrivenMatching | undefined> => {
    const done = await act(
      () => ask('POST', '/api/actions/redrive', { body }),
      ({ redriven, refused, refusals }) => {
        const other = refusals.find(({ device }) => !device);
        return {
          text: `${counted(redriven, 'dead letter')} queued again${refused > 0 ? `, ${count(refused)} refused` : ''}.`,
          ...(other ? { detail: other.error } : {}),
        };
      },
    );
    const kept = (done?.refusals ?? []).filter((one): one is Kept => one.device !== undefined);
    if (kept.length > 0) open(offer(kept, redrive));
    return done;
  };
  return { redrive, busy };
}

function offer(kept: readonly Kept[], redrive: (body: RedriveFilter) => Promise<unknown>): Confirmation {
  const devices = [...new Map(kept.map(({ device }) => [device.id, device])).values()];
  return {
    title: `${counted(devices.length, 'device')} ${devices.length === 1 ? 'is' : 'are'} in error`,
    about: (
      <>
        {counted(kept.length, 'dead letter')} cannot be redriven until the error is cleared:{' '}
        {devices.slice(0, MOST_NAMED).map(({ id, name }, nth) => (
          <span key={id}>
            {nth > 0 && ', '}
            <TextLink to="/devices/$id" params={{ id }}>
              {name}
            </TextLink>
          </span>
        ))}
        {devices.length > MOST_NAMED && ` and ${count(devices.length - MOST_NAMED)} more`}.
      </>
    ),
    verb: `Clear and redrive ${count(kept.length)}`,
    act: () => void redrive({ ids: kept.map(({ id }) => id), clearError: true }),
  };
}
