import { readFileSync } from 'node:fs';
import { MDM_ERRORS } from '@muster/contracts/words';
import { SettingError } from '../../config.ts';
import type { CreateFeature } from '../../feature.ts';
import { allCalled } from '../../naming/naming.ts';
import { createTenantQueries } from '../../tenants/queries.ts';
import { createOwnAuthority } from './authority.ts';
import { createCheckIns } from './check-in/check-in.ts';
import { Arrivals } from './commands/arrivals.ts';
import { createCommandCache } from './commands/cache.ts';
import { createExpireCommands, createPruneCommands } from './commands/expire.ts';
import { gatherSettles } from './commands/gathered-settle.ts';
import { createSettle } from './commands/settle.ts';
import { takeCommands } from './commands/take-commands.ts';
import { createWatchPhones } from './commands/watch-phones.ts';
import { createConversation } from './conversation.ts';
import { copyCommand, createRedriveRule } from './copy.ts';
import { createEnrolments } from './enrolments.ts';
import { createPublish } from './events.ts';
import { createIdentify } from './identity.ts';
import { createLives } from './lives.ts';
import { nanomdmRoutes } from './nanomdm/routes.ts';
import { createPhones } from './phones.ts';
import { createProfiles } from './profile.ts';
import { createPushPart } from './push/index.ts';
import { createRawCommands, MDM, type RawPayload } from './raw-commands.ts';
import { givePushReasons } from './reasons.ts';
import { operatorRoutes, phoneRoutes } from './routes.ts';
import { createScep } from './scep.ts';
import { createShownPhones } from './shown-phones.ts';
import { createTenantNames } from './tenant-names.ts';
import { createTrusted } from './trusted.ts';

/** Phones come when they are pushed to, so their contacts need not be recorded more often. */
const CONTACT_EVERY_MS = 5_000;

/** Apple device management: enrols phones, sends them commands, and takes their answers. */
export const mdm: CreateFeature = (shell) => {
  const { audit, bus, config, db, engine, fleet, log, longPolls, secrets, tokens } = shell;
  const { now, schema } = engine;
  const push = createPushPart(shell);
  const { pushes } = push;
  const contacts = shell.contacts.of(MDM, CONTACT_EVERY_MS);
  const phones = createPhones(schema, now);
  const enrolments = createEnrolments(schema, { now, secrets });
  const commands = createCommandCache(schema, now);
  const arrivals = new Arrivals(db, schema);
  const publish = createPublish(bus);
  const lives = createLives({ commands, engine, phones, pushes });
  const names = createTenantNames(db, createTenantQueries(schema));
  const authority = createOwnAuthority(db, schema, { now, secrets });
  const trusted = createTrusted(authority, configuredAuthorities(config.MUSTER_MDM_CA));
  const raw = createRawCommands({
    ...{ commands, engine, fleet, lives, phones, pushes },
    leaseMs: config.MUSTER_MDM_LEASE_SECONDS * 1_000,
  });
  shell.naming.of(MDM, ({ payload }) => (payload as Partial<RawPayload> | null)?.requestType);
  shell.naming.workersOf(MDM, allCalled('the phone'));
  shell.copying.of(MDM, copyCommand({ fleet, raw }));
  shell.redriving.add(createRedriveRule(engine));
  givePushReasons(engine);
  takeCommands({ arrivals, bus, commands, lives, phones, publish, pushes });
  // first: after a standstill the lease of an erase may have expired as well, and would end it without a result
  engine.addDuty(createExpireCommands({ commands, engine, presume: raw.presume, publish }), 'first');
  engine.addDuty(createWatchPhones(engine, pushes));
  engine.addDuty(createPruneCommands(engine, commands, config.MUSTER_RETENTION_DAYS));
  fleet.onRemoved(async (tx, tenantId, deviceId) => {
    const phone = await phones.ofDevice(tx, tenantId, deviceId);
    if (phone) await phones.forget(tx, tenantId, phone.udid);
    await contacts.forget(tx, tenantId, deviceId);
    await pushes.forget(tx, tenantId, deviceId, 'all');
  });
  if (config.MUSTER_MDM_CERT_HEADER !== null && config.MUSTER_TRUSTED_PROXIES.rules.length === 0)
    throw new SettingError(
      'MUSTER_MDM_CERT_HEADER',
      'works only with trusted proxies: set MUSTER_TRUSTED_PROXIES.',
    );
  if (config.MUSTER_SCEP_URL !== null && config.MUSTER_MDM_CA === null)
    throw new SettingError('MUSTER_SCEP_URL', 'needs MUSTER_MDM_CA, the authority to trust.');

  const tools = {
    ...{ audit, commands, db, fleet, phones, pushes, raw },
    shownPhones: createShownPhones(engine, contacts),
    publicUrl: config.MUSTER_PUBLIC_URL,
    tenantId: names.idOf,
    checkIns: createCheckIns(db, {
      ...{ arrivals, commands, contacts, enrolments, fleet, lives, now, phones, publish, pushes, secrets },
    }),
    converse: createConversation({
      ...{
        arrivals,
        audit,
        commands,
        contacts,
        engine,
        lives,
        log,
        longPolls,
        phones,
        publish,
        pushes,
        raw,
        secrets,
      },
      holdSeconds: config.MUSTER_MDM_HOLD_SECONDS,
      settle: gatherSettles(db, createSettle(schema, now), { lives, publish }),
    }),
    identify: createIdentify({
      ...{ certificateHeader: config.MUSTER_MDM_CERT_HEADER, now, trusted },
      proxies: config.MUSTER_TRUSTED_PROXIES,
    }),
    profiles: createProfiles(db, {
      ...{ enrolments, pushes, tokens, tenantName: names.nameOf },
      scep:
        config.MUSTER_SCEP_URL === null
          ? null
          : { url: config.MUSTER_SCEP_URL, challenge: config.MUSTER_SCEP_CHALLENGE ?? '' },
    }),
    scep: createScep(db, { authority, enrolments, now }),
  };
  let listening: { stop(): Promise<void> } | undefined;
  return {
    name: 'mdm',
    errors: { ...MDM_ERRORS, ...push.errors },
    routes: [
      ...phoneRoutes(tools),
      ...operatorRoutes(tools),
      ...push.routes,
      ...nanomdmRoutes({ audit, db, phones, pushes, raw }),
    ],
    async start() {
      listening = await arrivals.start();
      await push.start();
    },
    async stop() {
      await push.stop();
      await listening?.stop();
    },
  };
};

function configuredAuthorities(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SettingError('MUSTER_MDM_CA', `cannot be read: ${(error as Error).message}`);
  }
}
