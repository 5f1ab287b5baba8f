import type { LiveChanged, LiveTick } from '@muster/contracts';

/** What the holder of the stream sends to the tabs. */
export type Told =
  | { readonly type: 'open' }
  | { readonly type: 'lost' }
  | { readonly type: 'refused' }
  | { readonly type: 'tick'; readonly tick: LiveTick }
  | { readonly type: 'changed'; readonly changed: LiveChanged }
  /** More changed than can be named, or too much was missed: read everything again. */
  | { readonly type: 'many' };

/** What a tab sends to the holder. */
export interface Wanted {
  readonly tenant: string;
  readonly wanted: boolean;
}
