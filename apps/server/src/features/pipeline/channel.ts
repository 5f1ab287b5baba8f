/** The channel of all actions of the pipeline: they are in the lanes of their devices. */
export const PIPELINE = 'pipeline';
/** The internal topic and its subscription. A message says: look at the lane of this device. */
export const ACTION_TRIGGER = 'action-trigger';
export const CHECKIN_HANDLER = 'checkin-handler';

/** Something may be dispatched to this device. A repeated trigger changes nothing: a lane is claimed once. */
export interface Trigger {
  readonly device_id: string;
  /** The action that was just assigned. It fails if the message becomes a dead letter. */
  readonly action_id: string | null;
}
