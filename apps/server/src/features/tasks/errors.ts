import { TASK_ERRORS } from '@muster/contracts/words';
import { errorsOf, MusterError } from '../../errors.ts';

export const taskError = errorsOf(TASK_ERRORS);

export const unknownTask = () => taskError('MUSTER_UNKNOWN_TASK', 'There is no task with this id.');
export const unknownTaskDevice = () =>
  taskError('MUSTER_UNKNOWN_TASK_DEVICE', 'There is no task device with this id here.');

/** A task device belongs to its task, and a task has one for each device. */
export const notCopied = () =>
  new MusterError(
    'MUSTER_NOT_COPIED',
    409,
    'Actions of a task cannot be copied. Redrive it, or create a task for this device.',
  );
