// `npm run demo`: the server with a simulated fleet, to try the console. `npm run demo -- --help` lists the options.

import { become } from './become.mjs';

become('demo', process.argv.slice(2));
