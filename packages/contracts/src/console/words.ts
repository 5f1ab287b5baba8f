/** Problems that need an operator's attention. */
export const PROBLEM_CODES = [
  'DEAD_LETTERS',
  'DEVICES_IN_ERROR',
  'BATCHES_ABORTED',
  'PUSHES_STOPPED',
  'PUSH_CERTIFICATES_END',
  'RUNS_MISSED',
  'OLDEST_WAITING',
  'WEBHOOKS_PAUSED',
  'ALL_PAUSED',
  'TAGS_PAUSED',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** What can be searched for. */
export const SEARCHED = ['action', 'device', 'host', 'pc', 'task', 'batch', 'workflow'] as const;
export type Searched = (typeof SEARCHED)[number];
