import { FairLine, overloaded, Room } from '@muster/engine';
import type { Caller } from '../../../tokens/caller.ts';

/**
 * Reads of all documents at this node: four at once, so most of ten connections are left for others. Forty documents
 * with 300 fields each had put 12,000 statements into the pool, and every other client got 503 for as long as they
 * came.
 *
 *   documents of a caller ──in turn, four at a time──► callers of a tenant ──► tenants ──in turn──► read
 *
 * Turns always come, because statements end by their time limit; a turn that comes after its document has ended is not
 * used.
 */
const AT_ONCE = 4;
const OF_CALLER_AT_ONCE = 4;
/** Documents in progress. Beyond this, a document is refused at once, before anything is read. */
const MOST = { documents: 1_000, ofCaller: 200 };

/** A place in a line. `tenant` names whose turn it is; among the documents of a caller it is the document's number. */
interface Turn {
  readonly tenant: number;
  readonly go: () => void;
}

/** A waiting read, in the line of its caller and then in the line of all. */
interface Waiting extends Turn {
  readonly refuse: (error: Error) => void;
  leave: () => void;
}

interface OfCaller {
  readonly tenantId: number;
  readonly waiting: FairLine<Waiting>;
  documents: number;
  atOnce: number;
}

export interface DocumentReads {
  read<T>(run: () => Promise<T>): Promise<T>;
  /** The document is answered: its waiting reads are dropped. It counts until its running reads have ended. */
  end(): void;
}

/** Reaches no client: the answer was already sent. */
export class DocumentOver extends Error {}

export class ReadTurns {
  readonly #documentMs: number;
  readonly #room: Room;
  readonly #mostOfCaller: number;
  readonly #callers = new Map<string, OfCaller>();
  readonly #line = new FairLine<Turn>();
  #begun = 0;
  #reading = 0;

  constructor(documentMs: number, most: typeof MOST = MOST) {
    this.#documentMs = documentMs;
    this.#room = new Room({ calls: most.documents, bytes: Number.MAX_SAFE_INTEGER });
    this.#mostOfCaller = most.ofCaller;
  }

  /** How many documents are in progress. */
  get documents(): number {
    return this.#room.calls;
  }

  begin({ tenantId, tokenId }: Pick<Caller, 'tenantId' | 'tokenId'>): DocumentReads {
    const word = `${tenantId}:${tokenId}`;
    const own = this.#callers.get(word) ?? { tenantId, waiting: new FairLine(), documents: 0, atOnce: 0 };
    if (own.documents >= this.#mostOfCaller || !this.#room.enter(tenantId, 0)) throw overloaded();
    own.documents += 1;
    this.#callers.set(word, own);
    this.#begun += 1;
    const document = this.#begun;
    const until = performance.now() + this.#documentMs;
    // A refused field can end a document while its others wait: one token had 90,000 of them queued by 600 documents,
    // none counted.
    const waiting = new Set<Waiting>();
    let [reading, isOver] = [0, false];
    const leaveIfOver = () => {
      if (!isOver || reading > 0) return;
      this.#room.leave(tenantId, 0);
      own.documents -= 1;
      if (own.documents === 0) this.#callers.delete(word);
    };
    return {
      read: async (run) => {
        if (isOver) throw new DocumentOver();
        await new Promise<void>((resolve, refuse) => {
          const go = () => {
            waiting.delete(one);
            reading += 1;
            resolve();
          };
          const one: Waiting = { tenant: document, go, refuse, leave: () => {} };
          waiting.add(one);
          one.leave = own.waiting.push(one);
          this.#next(own);
        });
        try {
          if (isOver) throw new DocumentOver();
          if (performance.now() > until) throw overloaded();
          return await run();
        } finally {
          reading -= 1;
          this.#reading -= 1;
          own.atOnce -= 1;
          this.#next(own);
          leaveIfOver();
        }
      },
      end: () => {
        if (isOver) return;
        isOver = true;
        for (const { leave, refuse } of waiting) {
          leave();
          refuse(new DocumentOver());
        }
        waiting.clear();
        this.#next(own);
        leaveIfOver();
      },
    };
  }

  #next(own: OfCaller): void {
    while (own.atOnce < OF_CALLER_AT_ONCE) {
      const one = own.waiting.shift();
      if (!one) break;
      own.atOnce += 1;
      const leave = this.#line.push({ tenant: own.tenantId, go: one.go });
      one.leave = () => {
        leave();
        own.atOnce -= 1;
      };
    }
    while (this.#reading < AT_ONCE) {
      const turn = this.#line.shift();
      if (!turn) break;
      this.#reading += 1;
      turn.go();
    }
  }
}
