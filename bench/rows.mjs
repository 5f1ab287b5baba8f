// All rows, in the order of the table.

import bareDatabase from './rows/bare-database.mjs';
import bareRoute from './rows/bare-route.mjs';
import batch from './rows/batch.mjs';
import bullmq from './rows/bullmq.mjs';
import checkin from './rows/checkin.mjs';
import claimLatency from './rows/claim-latency.mjs';
import consolePages from './rows/console.mjs';
import control from './rows/control.mjs';
import duties from './rows/duties.mjs';
import engine from './rows/engine.mjs';
import graphileWorker from './rows/graphile-worker.mjs';
import heldSnapshot from './rows/held-snapshot.mjs';
import http from './rows/http.mjs';
import lock from './rows/lock.mjs';
import mdm from './rows/mdm.mjs';
import pgBoss from './rows/pg-boss.mjs';
import pipeline from './rows/pipeline.mjs';
import pool from './rows/pool.mjs';
import processes from './rows/processes.mjs';
import tasks from './rows/tasks.mjs';
import waiters from './rows/waiters.mjs';

/**
 * @typedef {object} Task
 * @property {string} row
 * @property {string} url of a database of the row's own; empty if it uses none
 * @property {string} [beside] a second database, if the row compares with one
 * @property {number} redisPort
 * @property {import('./options.mjs').Sizes} sizes
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {boolean} [lower] less is better
 * @property {('postgres' | 'pglite' | 'redis' | 'browser')[]} uses
 * @property {string} [template] which database it starts from; an empty one otherwise
 * @property {string} [beside] what the second database starts from
 * @property {'newer' | 'as peers'} [node] a newer Node than the product needs; the same if it is there, so that peers have no other
 * @property {string[]} [execArgv]
 * @property {string} [versionOf] the package in bench/ that it measures
 * @property {string} settings
 * @property {(task: Task) => Promise<{ value: number } & Record<string, number>>} measure
 */

/** @type {Row[]} */
export const rows = [
  ...bareDatabase,
  ...bareRoute,
  ...graphileWorker,
  ...pgBoss,
  ...bullmq,
  ...engine,
  ...http,
  ...processes,
  ...claimLatency,
  ...duties,
  ...heldSnapshot,
  ...waiters,
  ...control,
  ...checkin,
  ...mdm,
  ...batch,
  ...tasks,
  ...pipeline,
  ...lock,
  ...pool,
  ...consolePages,
];
