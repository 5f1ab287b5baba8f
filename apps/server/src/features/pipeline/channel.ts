/** The channel of all actions of the pipeline: they are in the lanes of their devices. */
export const PIPELINE = 'pipeline';
/** The internal topic, and whoever takes its messages: look at the lane of this device. */
export const ACTION_TRIGGER = 'action-trigger';
export const CHECKIN_HANDLER = 'checkin-handler';

/** Of a device: something may be dispatched to it. Taken twice it changes nothing: a lane is claimed once. */
export interface Trigger {
  readonly device_id: string;
  /** The action that was just assigned; if nobody can take the message, this one has failed. */
  readonly action_id: string | null;
}
