import { ACTION_ERRORS } from './actions/errors.ts';
import { BATCH_ERRORS } from './batches/errors.ts';
import { CALLBACK_ERRORS } from './callbacks/errors.ts';
import { CHECKIN_ERRORS } from './checkin/errors.ts';
import { ENGINE_ERRORS } from './engine-errors.ts';
import { FEED_ERRORS } from './feed/errors.ts';
import { FLEET_ERRORS } from './fleet/errors.ts';
import { HOST_ERRORS } from './hosts/errors.ts';
import { HTTP_ERRORS } from './http-errors.ts';
import { MDM_ERRORS } from './mdm/errors.ts';
import { ORDER_ERRORS } from './orders/errors.ts';
import { PIPELINE_ERRORS } from './pipeline/errors.ts';
import { PUSH_ERRORS } from './push/errors.ts';
import { SECRETS_ERRORS } from './secrets-errors.ts';
import { TASK_ERRORS } from './tasks/errors.ts';
import { TENANT_ERRORS } from './tenants/errors.ts';
import { TOKEN_ERRORS } from './tokens/errors.ts';
import { WEBHOOK_ERRORS } from './webhooks/errors.ts';
import { WORKFLOW_ERRORS } from './workflows/errors.ts';

/** Every code that a refusal of any door may carry. The server does not start if a code is declared twice. */
export const ERRORS = {
  ...ACTION_ERRORS,
  ...BATCH_ERRORS,
  ...CALLBACK_ERRORS,
  ...CHECKIN_ERRORS,
  ...ENGINE_ERRORS,
  ...FEED_ERRORS,
  ...FLEET_ERRORS,
  ...HOST_ERRORS,
  ...HTTP_ERRORS,
  ...MDM_ERRORS,
  ...ORDER_ERRORS,
  ...PIPELINE_ERRORS,
  ...PUSH_ERRORS,
  ...SECRETS_ERRORS,
  ...TASK_ERRORS,
  ...TENANT_ERRORS,
  ...TOKEN_ERRORS,
  ...WEBHOOK_ERRORS,
  ...WORKFLOW_ERRORS,
} as const;
export type ErrorCode = keyof typeof ERRORS;
