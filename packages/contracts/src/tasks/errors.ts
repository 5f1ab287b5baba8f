import type { ErrorCatalogue } from '../error-catalogue.ts';

export const TASK_ERRORS = {
  MUSTER_NO_RUNNER_TOKEN: { status: 409, meaning: 'The PC has no valid token to revoke.' },
  MUSTER_PC_EXISTS: { status: 409, meaning: 'Another PC has this name.' },
  MUSTER_TOO_MANY_SLOTS: {
    status: 400,
    meaning: 'The PC would have more slots than MUSTER_MAX_SLOTS_PER_PC allows.',
  },
  MUSTER_UNKNOWN_TASK: { status: 404, meaning: 'There is no task with this id.' },
  MUSTER_UNKNOWN_TASK_DEVICE: {
    status: 404,
    meaning: 'There is no task device with this id, or it was never handed out to this PC.',
  },
  MUSTER_WRONG_PC: { status: 403, meaning: 'The token belongs to the runner of another PC.' },
} as const satisfies ErrorCatalogue;
