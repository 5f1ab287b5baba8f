// One action for every device: how long until the batch is accepted, and until every action is in its lane.

/**
 * @param {import('../rows.mjs').Task} task
 * @returns {Promise<{ acceptMs: number, suppliedMs: number, devices: number }>}
 */
async function batchForAll({ url }) {
  const { openServer } = await import('../server.mjs');
  const server = await openServer(url);
  const began = performance.now();
  const response = await fetch(`http://127.0.0.1:${server.port}/api/batches`, {
    method: 'POST',
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ targets: { all: true }, action: { kind: 'bench', payload: { hello: true } } }),
  });
  const accepted = /** @type {{ total: number }} */ (await response.json());
  const acceptMs = performance.now() - began;
  if (response.status !== 201) throw new Error(JSON.stringify(accepted));
  for (;;) {
    const { rows } = await server.db.query({
      text: 'select 1 from muster.targets where action_id is null and error is null limit 1',
    });
    if (rows.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const suppliedMs = performance.now() - began;
  await server.close();
  return { acceptMs, suppliedMs, devices: accepted.total };
}

export default [
  {
    name: 'batch-accept',
    title: 'Batch for every device: until it is accepted',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    template: 'devices',
    settings: 'POST /api/batches with all devices as targets: frozen in the accepting transaction',
    /** @param {import('../rows.mjs').Task} task */
    async measure(task) {
      const measured = await batchForAll(task);
      return { value: measured.acceptMs, ...measured };
    },
  },
  {
    name: 'batch-supply',
    title: 'Batch for every device: until every action is in its lane',
    unit: 's',
    lower: true,
    uses: ['postgres'],
    template: 'devices',
    settings: 'in chunks of 1,000, each with its history, assignment and milestone',
    /** @param {import('../rows.mjs').Task} task */
    async measure(task) {
      const measured = await batchForAll(task);
      return { value: measured.suppliedMs / 1_000, ...measured };
    },
  },
];
