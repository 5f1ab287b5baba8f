import { type Finding, finding } from '../torture/finding.ts';

/**
 * What callers saw behind the balancer. An answer is one of the server's, or an honest refusal: by the server, with a code, or by
 * HAProxy, with its own page. Everything else is a fault, and while nodes only drain, so is a page of HAProxy or a cut.
 */
export type Seen = 'answer' | 'refused' | 'by the balancer' | 'cut' | 'impatient' | 'dishonest';

const PAGE = /<h1>50[234] /;

export class Witness {
  readonly counts = new Map<Seen, number>();
  readonly faults: Finding[] = [];
  /** What a client lost that it had a right to, as long as nothing but a drain disturbs the nodes. */
  readonly losses: string[] = [];
  /** Drains of which the balancer knew before the node stopped, so that nothing may be lost. */
  drains = 0;

  /** `status` null: no answer, and the text is the error. */
  saw(call: string, status: number | null, text: string): Seen {
    const seen = judge(status, text);
    this.counts.set(seen, (this.counts.get(seen) ?? 0) + 1);
    if (seen === 'dishonest')
      this.faults.push(finding('G64', null, `${call} was answered ${status} ${text.slice(0, 200)}`));
    if (isLoss(seen)) this.losses.push(`${call}: ${status ?? ''} ${text.slice(0, 120)}`);
    return seen;
  }
}

export const isLoss = (seen: Seen) => seen === 'by the balancer' || seen === 'cut';

export function judge(status: number | null, text: string): Seen {
  if (status === null) return /abort|time-?out/i.test(text) ? 'impatient' : 'cut';
  if (status < 500) return 'answer';
  if (PAGE.test(text)) return 'by the balancer';
  const code = codeOf(text);
  return code === undefined || code === 'MUSTER_INTERNAL' ? 'dishonest' : 'refused';
}

function codeOf(text: string): string | undefined {
  try {
    const { code, errors } = JSON.parse(text);
    return code ?? errors?.[0]?.extensions?.code;
  } catch {
    return undefined;
  }
}
