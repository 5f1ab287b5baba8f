// The server as built, plus the event feed on a separate port, because only the server can read an embedded database. Plain
// JavaScript, so that it starts as fast as the real one.

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

// The parent process is gone, so this one would never be stopped.
process.stdin.resume().on('close', () => process.exit(1));

process.on('SIGTERM', () => {
  feed.close();
  void server.stop().then(() => process.exit(0));
});
