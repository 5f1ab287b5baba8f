import type { ErrorCatalogue } from '../error-catalogue.ts';

export const WORKFLOW_ERRORS = {
  MUSTER_BAD_SCHEDULE: {
    status: 400,
    meaning:
      'The schedule is invalid or never comes due: a wrong cron pattern or time zone, or a time in the past.',
  },
  MUSTER_UNKNOWN_RUN: { status: 404, meaning: 'The workflow has no run with this id.' },
  MUSTER_UNKNOWN_WORKFLOW: { status: 404, meaning: 'There is no workflow with this id.' },
} as const satisfies ErrorCatalogue;
