import type { ChannelContacts } from '../../../contacts/contacts.ts';
import type { Fleet } from '../../../fleet/index.ts';
import type { Secrets } from '../../../secrets/secrets.ts';
import type { Arrivals } from '../commands/arrivals.ts';
import type { CommandCache } from '../commands/cache.ts';
import type { Enrolments } from '../enrolments.ts';
import type { Publish } from '../events.ts';
import type { Lives } from '../lives.ts';
import type { Phones } from '../phones.ts';
import type { Pushes } from '../push/index.ts';

/** What check-ins change. */
export interface CheckInTools {
  readonly arrivals: Arrivals;
  readonly commands: CommandCache;
  readonly contacts: Pick<ChannelContacts, 'heardOf'>;
  readonly enrolments: Enrolments;
  readonly lives: Lives;
  readonly fleet: Pick<Fleet, 'laneOf' | 'notePhoneReplaced'>;
  readonly now: () => Date;
  readonly phones: Phones;
  readonly publish: Publish;
  readonly pushes: Pushes;
  readonly secrets: Secrets;
}
