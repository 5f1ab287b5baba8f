import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The console: built files, read once and served from memory, so no request names a file on disk. A page request for
 * anything that is neither a file nor a route gets the console, which has its own paths.
 */
const FOLDER = fileURLToPath(new URL('../../../console/dist', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const COMPRESSED = /^(text|image\/svg|application\/(json|manifest))/;
/** File names that the bundler derives from their content. */
const HASHED = /^\/assets\/.+-[\w-]{8,}\.\w+$/;

const SAFE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};
const NOT_BUILT =
  'The console is not built. Run "npm run build" in the Muster folder and restart the server.\n';

interface File {
  readonly bytes: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly cacheControl: string;
  /** Null: it would not become smaller. */
  gzip?: Buffer | null;
}

export class Pages {
  readonly #files = new Map<string, File>();
  readonly #isBuilt: boolean;
  #routeFolders: ReadonlySet<string> = new Set();

  constructor(folder = FOLDER) {
    this.#isBuilt = existsSync(path.join(folder, 'index.html'));
    if (!this.#isBuilt) return;
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const file = path.join(folder, name);
      const type = TYPES[path.extname(name)];
      if (type && !name.startsWith('.') && statSync(file).isFile())
        this.#add(`/${name.split(path.sep).join('/')}`, readFileSync(file), type);
    }
  }

  /** Unknown paths under the first segment of a route are answered in JSON, not with a page. */
  leaveOut(paths: readonly string[]): void {
    this.#routeFolders = new Set(paths.map((route) => route.split('/')[1] ?? ''));
  }

  /** True: it was answered. */
  answer(request: FastifyRequest, reply: FastifyReply): boolean {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    const [asked = '/'] = request.url.split('?');
    const file =
      this.#files.get(asked) ?? (this.#isPage(asked, request) ? this.#files.get('/index.html') : undefined);
    if (file) {
      this.#send(file, request, reply);
      return true;
    }
    if (this.#isBuilt || asked !== '/') return false;
    void reply.code(404).headers(SAFE_HEADERS).type('text/plain; charset=utf-8').send(NOT_BUILT);
    return true;
  }

  #isPage(asked: string, { headers }: FastifyRequest): boolean {
    if (asked === '/') return true;
    if (this.#routeFolders.has(asked.split('/')[1] ?? '') || asked.startsWith('/assets/')) return false;
    return /text\/html/i.test(headers.accept ?? '');
  }

  #add(name: string, bytes: Buffer, type: string): void {
    this.#files.set(name, {
      bytes,
      type,
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      cacheControl: HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
  }

  #send(file: File, request: FastifyRequest, reply: FastifyReply): void {
    reply.headers({
      ...SAFE_HEADERS,
      'cache-control': file.cacheControl,
      etag: file.etag,
      vary: 'accept-encoding',
    });
    if (request.headers['if-none-match'] === file.etag) return void reply.code(304).send();
    reply.type(file.type);
    const wantsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    if (wantsGzip && file.gzip === undefined) {
      const small = COMPRESSED.test(file.type) ? gzipSync(file.bytes) : null;
      file.gzip = small && small.byteLength < file.bytes.byteLength ? small : null;
    }
    const bytes = (wantsGzip && file.gzip) || file.bytes;
    if (bytes !== file.bytes) reply.header('content-encoding', 'gzip');
    if (request.method !== 'HEAD') return void reply.send(bytes);
    void reply.header('content-length', bytes.byteLength).send();
  }
}
