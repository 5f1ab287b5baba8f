import { TASK_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const taskError = errorsOf(TASK_ERRORS);

export const unknownTask = () => taskError('MUSTER_UNKNOWN_TASK', 'There is no task with this id.');
export const unknownTaskDevice = () =>
  taskError('MUSTER_UNKNOWN_TASK_DEVICE', 'There is no device of a task with this id here.');
