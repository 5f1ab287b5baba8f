import { ORDER_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const orderError = errorsOf(ORDER_ERRORS);

export const unknownOrder = () => orderError('MUSTER_UNKNOWN_ORDER', 'There is no order with this id.');
export const unknownBot = () => orderError('MUSTER_UNKNOWN_BOT', 'There is no bot with this id.');
/** The requested status is not possible. */
export const refused = (why: string) => orderError('MUSTER_ORDER_STATUS', why);
