/** The whole public surface of the client, by name. */
export type { Answered, Call, Input, Sending } from './call.ts';
export { type Client, type ClientOptions, createClient } from './create-client.ts';
export { MusterError, refusalOf } from './muster-error.ts';
