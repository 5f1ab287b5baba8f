// One measurement (or one template) in a separate process, started by run.mjs, so that no row inherits the memory,
// compiled code or connections of another. Only a quick run, whose figures mean nothing, runs several in one process.

import { rows } from './rows.mjs';
import { templates } from './templates.mjs';

process.on('message', (/** @type {any} */ task) => {
  perform(task).then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: String(error?.stack ?? error) }),
  );
});
// Do not wait for what another queue still does.
process.on('disconnect', () => process.exit(0));

/** @param {any} task */
async function perform(task) {
  if (task.template) {
    const template = templates[task.template];
    if (!template) throw new Error(`There is no template ${task.template}.`);
    await template.build(task.url, task.sizes);
    return {};
  }
  const row = rows.find((one) => one.name === task.row);
  if (!row) throw new Error(`There is no row ${task.row}.`);
  return row.measure(task);
}
