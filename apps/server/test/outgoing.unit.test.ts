import { createSocket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import { type ClientRequest, createServer, type RequestListener } from 'node:http';
import { type AddressInfo, BlockList, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { AllowRule, type Resolve } from '../src/outgoing/allow-rule.ts';
import { createLookUp, createNetworkLookUp } from '../src/outgoing/look-up.ts';
import { Outgoing, type OutgoingRequest } from '../src/outgoing/outgoing.ts';
import { Places } from '../src/outgoing/places.ts';
import { isPublic } from '../src/outgoing/public-addresses.ts';

const servers: { close(): unknown; closeAllConnections(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server of this machine; reaching it must be allowed. */
async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that does not speak HTTP, or speaks it wrongly. */
async function speak(words: string, end: boolean): Promise<number> {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => (end ? socket.end(words) : socket.write(words)));
  });
  const closeAllConnections = () => {
    for (const socket of open) socket.destroy();
  };
  servers.push(Object.assign(server, { closeAllConnections }));
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

test('an address is public only if it is assigned to someone on the internet', () => {
  expect(PRIVATE.filter(isPublic)).toEqual([]);
  expect([...PUBLIC, '2606:4700::1111', '2a00::1'].filter((address) => !isPublic(address))).toEqual([]);
});

test('G85: no private address is dialled, however it is written or resolved', async () => {
  const dial = vi.fn();
  const dialled = new Outgoing(new AllowRule(nothing, all('10.0.0.1', '::1', 'fd00::7')), undefined, dial);
  for (const url of [
    ...['http://10.0.0.1/', 'http://127.0.0.1:80/', 'http://[::1]/', 'http://[::ffff:10.0.0.1]/'],
    // what URL turns into an address is an address
    ...['http://0x7f.1/', 'http://2130706433/', 'http://017700000001/', 'http://127.1/'],
    ...['http://inside.example/', 'https://inside.example/', 'http://localhost/', 'http://localhost./'],
  ])
    expect([url, (await dialled.send(get(url))).outcome]).toEqual([url, 'forbidden']);
  expect(dial).not.toHaveBeenCalled();
  expect(dialled.check('http://169.254.169.254/latest')).toContain('is in a network');
});

test('G85: of a host with public and private addresses only the public ones are dialled, and exactly those that were resolved', async () => {
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
  // once, for as long as a request waits for it
  expect(resolve.mock.calls).toEqual([['mixed.example', expect.any(AbortSignal)]]);
});

test('addresses in the settings may be reached, and the response comes back', async () => {
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

test('G85: a redirect is a response and is not followed', async () => {
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

test('an endless response is cut, and one that never comes is given up', async () => {
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

test('an unknown name, a closed port and an invalid address have different errors', async () => {
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

test('G84: whatever a server sends instead of a response, its request ends', async () => {
  const outgoing = new Outgoing(new AllowRule(loopback, all('127.0.0.1')));
  const said = async (words: string, end: boolean, timeoutMs = 60_000) => {
    const port = await speak(words, end);
    return outgoing.send(get(`http://named.example:${port}/`, { timeoutMs }));
  };
  for (const more of ['', 'Upgrade: x\r\nConnection: upgrade\r\n'])
    for (const end of [true, false])
      expect(await said(`HTTP/1.1 101 Switching Protocols\r\n${more}\r\n`, end)).toMatchObject({
        ...{ outcome: 'answered', status: 101 },
      });
  for (const words of [
    ...['', 'nonsense\r\n\r\n', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx',
  ]) {
    const { outcome, ...more } = await said(words, true);
    expect([words, outcome]).toEqual([words, 'unreachable']);
    expect('text' in more && more.text).not.toMatch(/\.\.$/);
  }
  for (const words of ['', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\nX-Y'])
    expect([words, (await said(words, false, 20)).outcome]).toEqual([words, 'timeout']);
});

test('a request for which Node emits no further event ends with its time', async () => {
  const silent = Object.assign(new EventEmitter(), { end: () => {}, destroy: () => {} });
  const outgoing = new Outgoing(
    new AllowRule(loopback, all('127.0.0.1')),
    undefined,
    () => silent as unknown as ClientRequest,
  );
  expect((await outgoing.send(get('http://named.example/', { timeoutMs: 20 }))).outcome).toBe('timeout');
});

test('G84: a slow request gives up its place to others, as long as there are places and bytes for slow ones', async () => {
  const places = new Places({ atOnce: 2, slow: { places: 2, bytes: 100 } });
  const [a, b] = [places.take(), places.take()];
  const free = () => Promise.race([places.free(), Promise.resolve('none')]);
  expect(await free()).toBe('none');
  places.turnSlow(a, 40);
  places.turnSlow(a, 40);
  expect(await free()).toBe(1);
  places.turnSlow(b, 61); // too many bytes
  expect(await free()).toBe(1);
  places.turnSlow(b, 60);
  expect(await free()).toBe(2);
  const c = places.take();
  places.turnSlow(c, 0); // too many
  expect(await free()).toBe(1);
  for (const place of [a, b, c]) places.giveBack(place);
  expect(await free()).toBe(2);
  const [d] = [places.take(), places.take()];
  const waiting = places.free();
  places.turnSlow(d, 100);
  expect(await waiting).toBe(1);
});

test('G84: a released place for slow requests goes to the oldest one that waits for it and fits', async () => {
  const places = new Places({ atOnce: 4, slow: { places: 2, bytes: 100 } });
  const free = () => Promise.race([places.free(), Promise.resolve('none')]);
  const [a, b, large, small] = [places.take(), places.take(), places.take(), places.take()];
  places.turnSlow(a, 40);
  places.turnSlow(b, 40);
  const over = places.take();
  places.turnSlow(over, 1);
  places.turnSlow(large, 70);
  places.turnSlow(small, 20);
  const last = places.take();
  places.turnSlow(last, 20);
  expect(await free()).toBe('none');
  places.giveBack(over); // it had kept its normal place
  expect(await free()).toBe(1);
  places.giveBack(a); // 60 bytes and one place: the first that fits
  expect([large, small, last].map(({ slowBytes }) => slowBytes)).toEqual([null, 20, null]);
  expect(await free()).toBe(2);
  places.giveBack(b);
  expect([large, last].map(({ slowBytes }) => slowBytes)).toEqual([70, null]);
  for (const place of [large, small, last]) places.giveBack(place);
  expect(await free()).toBe(4);
});

/** A name server: no answer for hang.example, nor for half.example in IPv6; broken.example fails; it knows only known.example. */
async function nameServer(): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (asked, { address, port }) => {
    const name = asked.toString('latin1');
    const end = asked.indexOf(0, 12); // of the name; type and class come behind it
    const isFour = asked.readUInt16BE(end + 1) === 1;
    if (name.includes('hang') || (name.includes('half') && !isFour)) return;
    const isKnown = name.includes('known') && isFour;
    const answer = isKnown ? 'c00c00010001000000010004cb007109' : '';
    const head = Buffer.from(asked.subarray(0, 12));
    head.writeUInt16BE(name.includes('broken') ? 0x8182 : /known|half/.test(name) ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(isKnown ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const question = asked.subarray(12, end + 5);
    socket.send(Buffer.concat([head, question, Buffer.from(answer, 'hex')]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  servers.push(Object.assign(socket, { closeAllConnections() {} }));
  return `127.0.0.1:${socket.address().port}`;
}

test('G84: names are resolved over the network, and one whose server hangs blocks no thread of the process', async () => {
  const server = await nameServer();
  const patient = createNetworkLookUp({ timeout: 60_000, tries: 1 }, [server]);
  const impatient = createNetworkLookUp({ timeout: 100, tries: 1 }, [server]);
  for (const hanging of ['hang.example', 'half.example'])
    await expect(impatient(hanging)).rejects.toMatchObject({ code: 'ETIMEOUT' });
  await expect(patient('broken.example')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  expect(await patient('known.example')).toEqual([{ address: '203.0.113.9', family: 4 }]);
  await expect(patient('other.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('G84: the system resolver is asked for names in its hosts file, and two at a time for names that DNS does not know', async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const codes: Record<string, string> = { hang: 'ETIMEOUT', broken: 'ESERVFAIL', empty: 'ENODATA' };
  const look = createLookUp({
    async byNetwork(host) {
      const [first] = host.split('.') as [string];
      if (first === 'known') return [{ address: '1.1.1.1', family: 4 }];
      throw Object.assign(new Error(host), { code: codes[first] ?? 'ENOTFOUND' });
    },
    async bySystem(host) {
      asked.push(host);
      if (host.startsWith('lost')) await new Promise<void>((resolve) => answers.push(resolve));
      return [{ address: '10.0.0.1', family: 4 }];
    },
    listed: async () => '127.0.0.1 localhost\n# 10.0.0.2 known.example\n10.0.0.3\tInside.example  in # x\n',
  });
  const listed = ['localhost', 'in', 'inside.example', 'INSIDE.example'];
  for (const own of [...listed, 'printer', 'empty.example'])
    expect(await look(own)).toEqual([{ address: '10.0.0.1', family: 4 }]);
  expect(await look('known.example')).toEqual([{ address: '1.1.1.1', family: 4 }]);
  await expect(look('hang.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  await expect(look('broken.example')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  expect(asked.splice(0)).toEqual([...listed, 'printer', 'empty.example']);
  const lost = ['lost1', 'lost2', 'lost3.example'].map((host) => look(host));
  await expect.poll(() => asked.length).toBe(2);
  // a caller that gave up has left the queue
  const [gone, rule] = [new AbortController(), new AllowRule(nothing, look)];
  const unwanted = rule.resolve(new URL('http://lost4.example'), gone.signal);
  const later = look('lost5.example');
  expect(await look('known.example')).toHaveLength(1);
  expect(await look('localhost')).toHaveLength(1);
  expect(asked.splice(0)).toHaveLength(3);
  gone.abort();
  expect((await unwanted).outcome).toBe('unknown-host');
  await expect(look('lost6', gone.signal)).rejects.toBe(gone.signal.reason);
  for (const answer of answers.splice(0)) answer();
  await expect.poll(() => asked.toSorted()).toEqual(['lost3.example', 'lost5.example']);
  for (const answer of answers) answer();
  expect((await Promise.all([...lost, later])).flat()).toHaveLength(4);
});
