import type { HostReport, HostReported, TaskDeviceReported } from '@muster/contracts';

/** How an attempt ended, from the journal to the server. */
export interface Report
  extends Readonly<Pick<HostReport, 'actionId' | 'status' | 'final' | 'exitCode' | 'message' | 'output'>> {
  readonly attempt: number;
  readonly result?: unknown;
  readonly timedOut?: true | undefined;
}

/** For either door. */
export type ReportAnswer = Readonly<
  Pick<HostReported | TaskDeviceReported, 'accepted' | 'status' | 'reason'>
>;
