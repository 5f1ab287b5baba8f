// `npm run demo`: the server with a simulated fleet, to look at the console. `npm run demo -- --help` lists what can be said.

import { become } from './become.mjs';

become('demo', process.argv.slice(2));
