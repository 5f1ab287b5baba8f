import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { OperatorToken } from '../tokens/operator-token.ts';

/** As sent over the channel, which carries no functions. */
export type Metrics = Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>[];

export interface Listening {
  readonly muster: 'listening';
  readonly url: string;
  readonly operatorToken: OperatorToken;
}

/** Messages from the other processes to the first. */
export type FromMember =
  | Listening
  | { readonly muster: 'alive' }
  | { readonly muster: 'ask'; readonly id: number; readonly metrics: Metrics }
  | { readonly muster: 'metrics'; readonly id: number; readonly metrics: Metrics };

/** Messages to them: questions, and the joint answers to their own. */
export type ToMember =
  | { readonly muster: 'alive?' }
  | { readonly muster: 'metrics?'; readonly id: number }
  | { readonly muster: 'metrics of all'; readonly id: number; readonly metrics: readonly Metrics[] };
