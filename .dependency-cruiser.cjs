// The import walls: which folder may import which. Each rule has a fixture that breaks it, in
// scripts/test/wall-trees.ts, and scripts/test/walls.unit.test.ts fails for a rule without one.

const npm = (...names) => names.map((name) => `node_modules/(@types/)?${name}/`);
const testCode = ['(^|/)(test|testing)/', '\\.test\\.ts$'];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'engine-imports-only-its-drivers',
      comment: 'The engine stands on pg, PGlite and Node, and on nothing of ours.',
      severity: 'error',
      from: { path: '^packages/engine/src/' },
      to: {
        pathNot: ['^packages/engine/src/', ...npm('pg', '@electric-sql/pglite')],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'engine-tests-import-nothing-of-ours',
      comment:
        'The engine is tested without the rest of the house. The cluster in testing/ is for everybody.',
      severity: 'error',
      from: { path: '^packages/engine/(?!src/)' },
      to: { path: '^(packages/(?!engine/)|apps/)' },
    },
    {
      name: 'engine-drivers-hold-the-seam',
      comment:
        'Only the drivers know pg and PGlite, their types included; the rest of the engine has its own types.',
      severity: 'error',
      from: { path: '^packages/engine/src/', pathNot: '^packages/engine/src/drivers/' },
      to: { path: npm('pg', '@electric-sql/pglite') },
    },
    {
      name: 'mdm-imports-nothing-of-ours',
      comment: 'The protocol knows no server; it meets the rest in apps/server/src/features/mdm.',
      severity: 'error',
      from: { path: '^packages/mdm/' },
      to: { path: '^(packages/(?!mdm/)|apps/)' },
    },
    {
      name: 'contracts-import-only-zod',
      comment: 'Contracts run in a browser, an agent and the server alike: zod, and not even Node.',
      severity: 'error',
      from: { path: '^packages/contracts/src/' },
      to: { pathNot: ['^packages/contracts/src/', ...npm('zod')] },
    },
    {
      name: 'clients-import-only-contracts',
      comment: 'The console, the client and the agent know the server by its contracts alone.',
      severity: 'error',
      from: { path: '^(apps/console|packages/agent|packages/client)/' },
      to: { path: '^(packages|apps)/', pathNot: ['^$1/', '^packages/(contracts|client)/'] },
    },
    {
      name: 'console-takes-types-only',
      comment:
        'The console takes types of the contracts: their schemas would bring a validator into every browser.',
      severity: 'error',
      from: { path: '^apps/console/src/' },
      to: { path: '^packages/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-runs-in-browsers',
      comment: 'The client is fetch and the contracts, and not even Node.',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { pathNot: ['^packages/client/src/', '^packages/contracts/src/'] },
    },
    {
      name: 'agent-has-no-run-time-dependencies',
      comment:
        'The agent is copied to hosts as it is: of the contracts it takes types, and they are gone when it runs.',
      severity: 'error',
      from: { path: '^packages/agent/src/' },
      to: { pathNot: '^packages/agent/src/', dependencyTypesNot: ['core', 'type-only'] },
    },
    {
      name: 'features-do-not-import-features',
      comment: 'Features meet by events, by an action definition in the contracts, or in the fleet.',
      severity: 'error',
      from: { path: '^apps/server/src/features/([^/]+)/' },
      to: { path: '^apps/server/src/features/', pathNot: '^apps/server/src/features/$1/' },
    },
    {
      name: 'pipeline-knows-no-maker',
      comment: 'The pipeline meets the layers of makers on the bus: not even the types of their protocols.',
      severity: 'error',
      from: { path: '^apps/server/src/features/pipeline/' },
      to: { path: '^packages/mdm/' },
    },
    {
      name: 'demo-is-a-client',
      comment: 'The simulated fleet knows the server as everybody does, by HTTP; the command starts both.',
      severity: 'error',
      from: { path: '^apps/server/src/demo/' },
      to: {
        path: '^(apps|packages)/',
        pathNot: ['^apps/server/src/demo/', '^packages/(client|contracts|mdm)/'],
      },
    },
    {
      name: 'fleet-imports-no-feature',
      comment: 'The fleet is open to every door and knows none of them.',
      severity: 'error',
      from: { path: '^apps/server/src/fleet/' },
      to: { path: '^apps/server/src/features/' },
    },
    {
      name: 'fleet-only-by-its-index',
      comment: 'What the fleet offers the doors is in its index.ts.',
      severity: 'error',
      from: { path: '^apps/server/src/', pathNot: '^apps/server/src/fleet/' },
      to: { path: '^apps/server/src/fleet/', pathNot: '^apps/server/src/fleet/index\\.ts$' },
    },
    {
      name: 'main-is-imported-only-by-the-cli',
      comment: 'main.ts joins everything, so nothing may lean on it. A test may start it.',
      severity: 'error',
      from: { pathNot: ['^apps/server/src/cli/', ...testCode] },
      to: { path: '^apps/server/src/main\\.ts$' },
    },
    {
      name: 'test-code-stays-in-tests',
      comment: 'What ships does not import test code.',
      severity: 'error',
      from: { pathNot: testCode },
      to: { path: testCode, pathNot: 'node_modules/' },
    },
    {
      name: 'packages-meet-by-name',
      comment: 'Another package is imported by its name and so by its public surface, never by a path.',
      severity: 'error',
      from: { path: '^((packages|apps)/[^/]+)/' },
      to: { path: '^(packages|apps)/', pathNot: '^$1/', dependencyTypesNot: ['aliased-workspace'] },
    },
    {
      name: 'traces-are-loaded-on-demand',
      comment: 'OpenTelemetry takes longer to load than the rest of a start: only where traces are on.',
      severity: 'error',
      from: { path: '^apps/server/src/', pathNot: '^apps/server/src/tracing/tracer\\.ts$' },
      to: {
        path: '^apps/server/src/tracing/tracer\\.ts$|node_modules/@opentelemetry/',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'no-cycles',
      comment: 'Files that import each other are one file in two halves. Types count.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-undeclared-packages',
      comment:
        'A package that happens to lie in node_modules is not a dependency until package.json says so.',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['npm'] },
    },
    {
      name: 'no-unresolvable-imports',
      comment: 'An import that leads nowhere would slip past every wall.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    combinedDependencies: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      conditionNames: ['muster-source', 'types', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.mts', '.mjs', '.js', '.cjs', '.json', '.d.ts'],
      mainFields: ['types', 'module', 'main'],
    },
    exclude: { path: '^(packages|apps)/[^/]+/dist/' },
    tsPreCompilationDeps: true,
  },
};
