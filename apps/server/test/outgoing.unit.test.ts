import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, BlockList } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { AllowRule, type Resolve } from '../src/outgoing/allow-rule.ts';
import { Outgoing, type OutgoingRequest } from '../src/outgoing/outgoing.ts';
import { isPublic } from '../src/outgoing/public-addresses.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server of this machine; whoever wants to reach it has to be allowed to. */
async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const loopback = new BlockList();
loopback.addAddress('127.0.0.1');
const nothing = new BlockList();
const all =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

const get = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  ...{ url, method: 'GET', headers: {}, body: null, timeoutMs: 60_000 },
  ...more,
});

const PRIVATE = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.8.9.1', '169.254.169.254'],
  ...[
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
  ],
  ...[
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    'fe80::1',
    'fd00::1',
  ],
  ...[
    'fc00::1',
    'ff02::1',
    '2001:db8::1',
    '2002:a00:1::',
    '2001:0:1::',
    '::10.0.0.1',
    '100::1',
    'nonsense',
    '',
  ],
];
const PUBLIC = ['1.1.1.1', '172.32.0.1', '100.63.255.255', '100.128.0.0', '9.255.255.255', '11.0.0.0'];

test('an address is public only if it is given out to somebody in the internet', () => {
  expect(PRIVATE.filter(isPublic)).toEqual([]);
  expect([...PUBLIC, '2606:4700::1111', '2a00::1'].filter((address) => !isPublic(address))).toEqual([]);
});

test('G85: no private address is dialled, however it is written or found', async () => {
  const dial = vi.fn();
  const dialled = new Outgoing(new AllowRule(nothing, all('10.0.0.1', '::1', 'fd00::7')), undefined, dial);
  for (const url of [
    ...['http://10.0.0.1/', 'http://127.0.0.1:80/', 'http://[::1]/', 'http://[::ffff:10.0.0.1]/'],
    // what a URL makes of other ways to write an address is an address
    ...['http://0x7f.1/', 'http://2130706433/', 'http://017700000001/', 'http://127.1/'],
    ...['http://inside.example/', 'https://inside.example/', 'http://localhost/', 'http://localhost./'],
  ])
    expect([url, (await dialled.send(get(url))).outcome]).toEqual([url, 'forbidden']);
  expect(dial).not.toHaveBeenCalled();
  expect(dialled.check('http://169.254.169.254/latest')).toContain('is in a network');
});

test('G85: of a host with public and private addresses only the public ones are dialled, and they are what was looked at', async () => {
  const resolve = vi.fn(all('10.0.0.1', '1.1.1.1', '192.168.0.1'));
  let addresses: unknown;
  const outgoing = new Outgoing(new AllowRule(nothing, resolve), undefined, (_url, { lookup }) => {
    lookup?.('mixed.example', { all: true }, (_error, found) => {
      addresses = found;
    });
    throw new Error('not in a test');
  });
  expect((await outgoing.send(get('http://mixed.example/'))).outcome).toBe('unreachable');
  expect(addresses).toEqual([{ address: '1.1.1.1', family: 4 }]);
  expect(resolve).toHaveBeenCalledTimes(1);
});

test('what the settings name may be reached, and the answer comes back', async () => {
  const port = await listen((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () =>
      response.writeHead(201, { 'x-said': String(request.headers['x-say']) }).end(`got ${body}`),
    );
  });
  const outgoing = new Outgoing(new AllowRule(loopback, all('127.0.0.1')));
  const answer = await outgoing.send(
    get(`http://named.example:${port}/a?b=1`, { method: 'POST', headers: { 'x-say': 'hi' }, body: 'words' }),
  );
  expect(answer).toMatchObject({
    outcome: 'answered',
    status: 201,
    isCut: false,
    headers: { 'x-said': 'hi' },
  });
  expect(answer.outcome === 'answered' && answer.body.toString()).toBe('got words');
});

test('G85: a redirect is an answer and is not followed', async () => {
  const asked: unknown[] = [];
  const port = await listen((request, response) => {
    asked.push(request.url);
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const outgoing = new Outgoing(new AllowRule(loopback, all('127.0.0.1')));
  expect(await outgoing.send(get(`http://named.example:${port}/`))).toMatchObject({
    outcome: 'answered',
    status: 307,
  });
  expect(asked).toEqual(['/']);
});

test('an answer without end is cut, and one that never comes is given up', async () => {
  const port = await listen((request, response) => {
    if (request.url === '/silent') return;
    const more = () => {
      while (response.write(Buffer.alloc(16_384, 'x')));
    };
    response.on('drain', more);
    more();
  });
  const outgoing = new Outgoing(new AllowRule(loopback, all('127.0.0.1')), {
    bodyBytes: 10,
    answerBytes: 100_000,
  });
  const endless = await outgoing.send(get(`http://named.example:${port}/`));
  expect(endless).toMatchObject({ outcome: 'answered', isCut: true });
  expect(endless.outcome === 'answered' && endless.body.length).toBe(100_000);
  const silent = get(`http://named.example:${port}/silent`, { timeoutMs: 20 });
  expect((await outgoing.send(silent)).outcome).toBe('timeout');
  const stop = new AbortController();
  const stopped = outgoing.send({ ...silent, timeoutMs: 60_000, signal: stop.signal });
  stop.abort();
  expect((await stopped).outcome).toBe('stopped');
  expect((await outgoing.send(get(`http://named.example:${port}/`, { body: 'eleven char' }))).outcome).toBe(
    'forbidden',
  );
});

test('a name that nobody knows, a closed port and a wrong address are told apart', async () => {
  const port = await listen(() => {});
  servers.pop()?.close();
  const unknown = new Outgoing(
    new AllowRule(loopback, async () => {
      throw new Error('ENOTFOUND');
    }),
  );
  expect((await unknown.send(get('http://nobody.example/'))).outcome).toBe('unknown-host');
  const outgoing = new Outgoing(new AllowRule(loopback, all('127.0.0.1')));
  expect((await outgoing.send(get(`http://named.example:${port}/`))).outcome).toBe('unreachable');
  for (const wrong of ['ftp://x.example/', 'x.example', 'http://me:secret@x.example/', ''])
    expect(typeof outgoing.check(wrong)).toBe('string');
});
