// `npm run plan`: what a fleet needs; `npm run plan:measure` and `npm run plan:day` measure and check it. See docs/scaling.md.

import { prepareCheckout, runTool } from './install.mjs';

const [command, ...argv] = process.argv.slice(2);
if (command === 'measure' || command === 'day') {
  prepareCheckout();
  if (runTool('typescript/bin/tsc', ['-b']).status !== 0) process.exit(1);
}
if (command === 'measure') await (await import('./plan/measure.mjs')).measure(argv);
else if (command === 'day') process.exitCode = await (await import('./plan/day.mjs')).playDay(argv);
else (await import('./plan/print.mjs')).printPlan(process.argv.slice(2));
