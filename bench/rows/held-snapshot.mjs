// The same cycles with and without a transaction that holds an old snapshot throughout: dead rows cannot be removed
// meanwhile, which ruins queues that update one table.

import pg from 'pg';
import { openMuster } from '../muster.mjs';
import { fusedRate } from './engine.mjs';

const LONGER = 2;

/** @param {boolean} held */
const measure =
  (held) =>
  async ({ url, sizes }) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    if (held) {
      await client.query('begin isolation level repeatable read');
      await client.query('select count(*) from muster.lanes');
    }
    const muster = await openMuster(url);
    const rate = await fusedRate(muster, { ...sizes, seconds: sizes.seconds * LONGER });
    await muster.close();
    await client.end();
    return rate;
  };

export default [
  {
    name: 'snapshot-free',
    title: 'Muster engine, report and claim, no old snapshot',
    unit: 'cycles/s',
    uses: ['postgres'],
    template: 'leased',
    settings: `as the engine's report and claim, ${LONGER} times as long`,
    measure: measure(false),
  },
  {
    name: 'snapshot-held',
    title: 'Muster engine, report and claim, an old snapshot held open',
    unit: 'cycles/s',
    uses: ['postgres'],
    template: 'leased',
    settings: 'the same beside an idle repeatable-read transaction that began before',
    measure: measure(true),
  },
];
