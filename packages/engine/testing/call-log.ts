/** What callers were told, numbered by one counter: the tables are checked against it afterwards. */
export interface CallLog {
  /** The next number. A call that ended before another began has the smaller one. */
  tick(): number;
  /** `answered` is the call's own end, `ended` the commit: later, if it was made in a transaction. */
  readonly enqueued: {
    readonly id: string;
    readonly begun: number;
    readonly answered: number;
    readonly ended: number;
  }[];
  readonly claimed: {
    readonly id: string;
    readonly attempt: number;
    readonly until: Date;
    readonly begun: number;
  }[];
  readonly reported: { readonly id: string; readonly attempt: number; readonly event: string }[];
  readonly extended: { readonly id: string; readonly attempt: number; readonly until: Date }[];
  readonly cancelled: { readonly id: string }[];
  readonly redriven: { readonly id: string; readonly answered: number }[];
  /** Generations of lanes. */
  readonly raised: { readonly laneId: string; readonly begun: number; readonly ended: number }[];
  /** How many leases a worker may have at once. */
  readonly slots: Map<string, number>;
}

export function createCallLog(): CallLog {
  let now = 0;
  return {
    tick: () => {
      now += 1;
      return now;
    },
    enqueued: [],
    claimed: [],
    reported: [],
    extended: [],
    cancelled: [],
    redriven: [],
    raised: [],
    slots: new Map(),
  };
}
