import type { LiveChanged, LiveTick } from '@muster/contracts';

/** What the holder of the stream tells the tabs. */
export type Told =
  | { readonly type: 'open' }
  | { readonly type: 'lost' }
  | { readonly type: 'refused' }
  | { readonly type: 'tick'; readonly tick: LiveTick }
  | { readonly type: 'changed'; readonly changed: LiveChanged }
  /** More than can be named, or so much was missed that everything is read anew. */
  | { readonly type: 'many' };

/** What a tab tells the holder. */
export interface Wanted {
  readonly tenant: string;
  readonly wanted: boolean;
}
