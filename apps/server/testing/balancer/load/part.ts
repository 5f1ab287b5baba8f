import type { Finding } from '../../torture/finding.ts';
import type { Random } from '../../torture/random.ts';
import type { Caller } from './caller.ts';

/** The clients of one door, in a tenant that is theirs alone or shared with other parts. */
export interface Playing {
  readonly caller: Caller;
  /** Of an admin of the tenant. */
  readonly token: string;
  readonly random: Random;
  /** No more disturbances will come: the part finishes its work and checks it. */
  isOver(): boolean;
  /** A tenant for something that counts all that is there; the token of its admin. */
  newTenant(): Promise<string>;
}

export type Part = (playing: Playing) => Promise<Finding[]>;
