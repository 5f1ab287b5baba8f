import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { OperatorToken } from '../tokens/operator-token.ts';

/** As they come over the channel: no function does. */
export type Metrics = Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>[];

export interface Listening {
  readonly muster: 'listening';
  readonly url: string;
  readonly operatorToken: OperatorToken;
}

/** What the first process hears from the others. */
export type FromMember =
  | Listening
  | { readonly muster: 'alive' }
  | { readonly muster: 'ask'; readonly id: number; readonly metrics: Metrics }
  | { readonly muster: 'metrics'; readonly id: number; readonly metrics: Metrics };

/** What it sends them: questions, and the answers of all to their own. */
export type ToMember =
  | { readonly muster: 'alive?' }
  | { readonly muster: 'metrics?'; readonly id: number }
  | { readonly muster: 'metrics of all'; readonly id: number; readonly metrics: readonly Metrics[] };
