import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { namesOf } from '../testing/promql.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

// Dashboards and alert rules are read by nobody until something is wrong. Here they are compared with a running server.

const ROOT = path.resolve(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
const RULES = read('deploy/prometheus/alerts.yml');
const rules = (parse(RULES) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly type: string; readonly query: string }[] };
}
const dashboards = readdirSync(path.join(ROOT, 'deploy/grafana')).map((file) => ({
  file,
  ...(JSON.parse(read(`deploy/grafana/${file}`)) as Dashboard),
}));

const page = read('docs/monitoring.md');
const [, beforeRings = '', whenItRings = ''] =
  /^([\s\S]*?)^## When it rings$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(page) ?? [];

/** Prometheus adds these. */
const OF_THE_SCRAPE = ['job', 'instance'];
/** Labels of each metric, as Prometheus stores it: a histogram is three. */
const labelsOf = new Map<string, Set<string>>([['up', new Set(OF_THE_SCRAPE)]]);
/** The words of labels whose words the server knows all. */
const words = new Map<string, Set<string>>();
let own: readonly string[];
let t: TestServer;

beforeAll(async () => {
  let registry: Registry | undefined;
  let internal: readonly string[] = [];
  t = await testServer({
    features: [
      (shell) => {
        registry = shell.registry;
        const start = async () => {
          internal = shell.internalChannels.all;
        };
        return { name: 'spy', routes: [], start };
      },
    ],
  });
  // metrics that are read from the database have their labels only in their lines
  await t.post('/api/lanes/monitored/actions', { kind: 'x' });
  const text = (await t.get('/metrics')).body as string;
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  const declared = new Map(
    (registry?.getMetricsAsArray() ?? []).map((metric) => [
      metric.name,
      (metric as unknown as { labelNames: string[] }).labelNames,
    ]),
  );
  own = [...types.keys()].filter((name) => name?.startsWith('muster_')) as string[];
  for (const [name = '', type] of types) {
    const labels = [...OF_THE_SCRAPE, ...(declared.get(name) ?? [])];
    if (type === 'histogram') {
      labelsOf.set(`${name}_bucket`, new Set([...labels, 'le']));
      for (const end of ['sum', 'count']) labelsOf.set(`${name}_${end}`, new Set(labels));
    } else labelsOf.set(name, new Set(labels));
  }
  const know = (label: string, word: string) => words.set(label, (words.get(label) ?? new Set()).add(word));
  for (const [, name = '', all = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label = '', word = ''] of all.matchAll(/(\w+)="([^"]*)"/g)) {
      labelsOf.get(name)?.add(label);
      if (['pool', 'state'].includes(label)) know(label, word);
    }
  for (const state of ['pending', 'claimed', 'succeeded', 'failed', 'cancelled', 'expired'])
    know('state', state);
  know('pool', 'all'); // that of the embedded database
  for (const { name } of t.engine.duties) know('duty', name);
  for (const channel of internal) know('channel', channel);
  for (const { path: route } of t.server.routes) know('route', route);
  // these have no list: whatever the sources write as a word of its own
  const sources = readdirSync(path.join(ROOT, 'apps/server/src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(path.join('apps/server/src', file)));
  for (const [, word = ''] of sources.join('\n').matchAll(/'([a-z]+[a-z.:_-]*)'/g))
    for (const label of ['by', 'name', 'outcome']) know(label, word);
});
afterAll(() => t.close());

/** What of this expression, and of a text that uses its labels, does not exist. */
function wrongIn(expression: string, used: readonly string[] = []): string[] {
  const { metrics, labels } = namesOf(expression.replaceAll('$__rate_interval', '5m'));
  const known = metrics.flatMap(({ name }) => [...(labelsOf.get(name) ?? [])]);
  return [
    ...metrics.flatMap(({ name, matchers }) => {
      const own = labelsOf.get(name);
      if (!own) return [`no metric ${name}`];
      return matchers.flatMap(({ label, op, value }) => {
        if (!own.has(label)) return [`${name} has no label ${label}`];
        const all = words.get(label);
        if (!all || /[$(]/.test(value)) return [];
        const given = op.includes('~') ? value.split('|') : [value];
        return given.filter((word) => !all.has(word)).map((word) => `no ${label} ${word}`);
      });
    }),
    ...[...labels, ...used].filter((label) => !known.includes(label)).map((label) => `no label ${label}`),
  ];
}

test('every alert rule names metrics and labels that exist', () => {
  expect(rules.length).toBeGreaterThan(15);
  const wrong = rules.flatMap(({ alert, expr, annotations }) => {
    const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string);
    return wrongIn(expr, used).map((what) => `${alert}: ${what}`);
  });
  expect(wrong).toEqual([]);
});

test('every panel of the dashboards names metrics and labels that exist', () => {
  expect(dashboards.map(({ uid }) => uid).sort()).toEqual([
    'muster-doors',
    'muster-engine',
    'muster-overview',
  ]);
  const wrong = dashboards.flatMap(({ file, panels, templating }) => [
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr, legendFormat }) => {
        const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string);
        return wrongIn(expr, used).map((what) => `${file}, ${title}: ${what}`);
      }),
    ),
    ...templating.list
      .filter(({ type }) => type === 'query')
      .flatMap(({ query }) => {
        const [, expr = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
        return wrongIn(expr, [label]).map((what) => `${file}, ${query}: ${what}`);
      }),
  ]);
  expect(wrong).toEqual([]);
  for (const { panels } of dashboards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, targets } of panels) expect(type === 'row' || (targets?.length ?? 0) > 0).toBe(true);
  }
});

test('names that do not exist are found', () => {
  expect(wrongIn('sum(rate(muster_claim_total[5m])) > 0')).toEqual(['no metric muster_claim_total']);
  expect(wrongIn('muster_statement_seconds > 1')).toEqual(['no metric muster_statement_seconds']);
  expect(wrongIn('muster_depth{status="failed"}')).toEqual(['muster_depth has no label status']);
  expect(wrongIn('muster_depth{state="dead"}')).toEqual(['no state dead']);
  expect(wrongIn('muster_depth{channel=~"bus|buses"}')).toEqual(['no channel buses']);
  expect(wrongIn('muster_alerts_total{name="bus.dead-letters"}')).toEqual(['no name bus.dead-letters']);
  expect(wrongIn('muster_webhooks_paused{by="failure"}')).toEqual(['no by failure']);
  expect(wrongIn('muster_http_request_seconds_count{route!~"/healthz|/ready"}')).toEqual(['no route /ready']);
  expect(wrongIn('rate(muster_duty_seconds_count{duty="fold"}[5m])')).toEqual(['no duty fold']);
  expect(wrongIn('max by (lane) (muster_depth)')).toEqual(['no label lane']);
  expect(wrongIn('muster_late_total', ['channel'])).toEqual(['no label channel']);
  expect(() => wrongIn('max(muster_depth) ; 1')).toThrow('Not understood');
});

test('every alert says what to do, and why its threshold', () => {
  const sections = [...whenItRings.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, annotations, labels } of rules) {
    expect(annotations.runbook_url).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
    expect(annotations.summary).toMatch(/\.$/);
    expect(['page', 'day']).toContain(labels.severity);
    expect(RULES).toMatch(new RegExp(`- alert: ${alert}\\n +# `));
  }
});

test('the table of metrics has all of them, and no others', () => {
  const listed = [...beforeRings.matchAll(/`(muster_\w+)`/g)].map(([, name]) => name as string);
  expect([...new Set(listed)].sort()).toEqual([...own].sort());
});
