/** How an attempt ended, from the journal to the server. */
export interface Report {
  readonly actionId: string;
  readonly attempt: number;
  readonly status: 'succeeded' | 'failed';
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
  readonly result?: unknown;
}

export interface ReportAnswer {
  readonly accepted: boolean;
  readonly status: string;
  readonly reason?: string;
}
