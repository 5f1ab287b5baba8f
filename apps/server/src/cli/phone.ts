import { Dropped, Phone, Refused } from '@muster/mdm/simulation';
import { CommandError } from '../commands/command.ts';

/**
 * `muster phone <address>`: a simulated phone, to try device management without a real one. It enrols with the profile
 * at that address and obeys commands. It gets no pushes, so it connects every few seconds.
 */
const EVERY_MS = 3_000;

export interface PhoneWish {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/** Until it is stopped, or has left. */
export async function playPhone(
  address: string,
  { everyMs = EVERY_MS, say, signal }: PhoneWish,
): Promise<void> {
  if (!isProfileUrl(address))
    throw new CommandError(
      `"${address}" is not the URL of an enrolment profile. Create one with POST /api/devices/<id>/mdm/enrolment, and pass its "url".`,
    );
  const phone = new Phone();
  const obey = phone.answer;
  phone.answer = (command) => {
    const answer = obey(command);
    say(`${command.requestType}: ${answer.status}. It is ${phone.locked ? 'locked' : 'not locked'}.`);
    return answer;
  };
  try {
    await phone.enrol(address);
  } catch (error) {
    throw new CommandError(`Enrolment failed: ${(error as Error).message}`);
  }
  say(`Enrolled: UDID ${phone.udid}, serial number ${phone.serial}.`);
  while (phone.enrolled && !signal.aborted) {
    try {
      await phone.connect();
    } catch (error) {
      // the server may be away for a while; its refusals are printed
      if (!(error instanceof Dropped)) say((error as Error).message);
      if (error instanceof Refused && error.reply.status === 400) return;
    }
    await pause(everyMs, signal);
  }
  if (!phone.enrolled) say('It has left.');
}

function isProfileUrl(text: string): boolean {
  return (
    URL.canParse(text) &&
    /^https?:$/.test(new URL(text).protocol) &&
    /\/mdm\/enrol\/./.test(new URL(text).pathname)
  );
}

export async function phone(address: string): Promise<number> {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  await playPhone(address, { say: (line) => console.log(line), signal: ending.signal });
  return 0;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
