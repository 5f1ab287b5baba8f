// `npm start`: from a fresh clone to a running server.

import { become } from './become.mjs';

become('serve', process.argv.slice(2));
