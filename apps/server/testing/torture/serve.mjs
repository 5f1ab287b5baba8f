// The server as it is built, with one thing beside it: the event feed on a port of its own, because the embedded
// database cannot be read by anybody but its server. Plain JavaScript, so that it starts as fast as the real one.

import { createServer } from 'node:http';
import { readConfig } from '../../dist/config.js';
import { startServer } from '../../dist/main.js';

const server = await startServer(readConfig());
const { engine } = server;

const feed = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  engine.feed
    .read(engine.db, {
      cursor: searchParams.get('cursor') ?? undefined,
      limit: Number(searchParams.get('limit')),
    })
    .then(
      (page) => response.end(JSON.stringify(page)),
      (error) => {
        response.statusCode = 503;
        response.end(String(error));
      },
    );
});
feed.listen(0, '127.0.0.1', () => {
  const address = feed.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`ready ${JSON.stringify({ http: Number(new URL(server.url).port), feed: port })}\n`);
});

// Whoever started this is gone: nobody would ever stop it.
process.stdin.resume().on('close', () => process.exit(1));

process.on('SIGTERM', () => {
  feed.close();
  void server.stop().then(() => process.exit(0));
});
