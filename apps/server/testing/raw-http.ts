import { connect, type Socket } from 'node:net';

/** One connection, byte by byte: the test writes the bytes, and answers are read one after the other. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawConnection {
  readonly socket: Socket;
  send(text: string | Buffer): void;
  /** The next answer, or null if the connection is closed without one. */
  answer(): Promise<RawAnswer | null>;
  /** Resolves when that text was received, whether the answer is complete or not; false: closed without it. */
  received(piece: string): Promise<boolean>;
  /** Resolves when the server has closed the connection. */
  closed: Promise<void>;
}

export function rawConnection(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  let isClosed = false;
  let heard = () => {};
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
    heard();
  });
  const closed = new Promise<void>((resolve) => {
    const over = () => {
      isClosed = true;
      heard();
      resolve();
    };
    socket.on('end', over);
    socket.on('close', over);
  });

  function take(): RawAnswer | null {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [first = '', ...lines] = text.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
    const after = end + 4;
    let body = '';
    let next = after + Number(headers['content-length'] ?? 0);
    if (headers['transfer-encoding'] === 'chunked') {
      next = after;
      for (;;) {
        const line = text.indexOf('\r\n', next);
        if (line < 0) return null;
        const size = Number.parseInt(text.slice(next, line), 16);
        body += text.slice(line + 2, line + 2 + size);
        next = line + 2 + size + 2;
        if (size === 0) break;
      }
    } else body = text.slice(after, next);
    if (text.length < next) return null;
    text = text.slice(next);
    return { status: Number(first.split(' ')[1]), headers, body };
  }

  const more = () =>
    new Promise<void>((resolve) => {
      heard = resolve;
    });

  return {
    socket,
    send: (data) => void socket.write(data),
    async answer() {
      for (;;) {
        const found = take();
        if (found || isClosed) return found;
        await more();
      }
    },
    async received(piece) {
      while (!text.includes(piece) && !isClosed) await more();
      return text.includes(piece);
    },
    closed,
  };
}

/** The head of a request; Host and the rest as given. */
export function head(line: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
