import type { BlockList } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Identity, identify, MdmError, type Presented } from '@muster/mdm';
import type { FastifyRequest } from 'fastify';
import { isListed } from '../../http/client-address.ts';
import { refused } from './errors.ts';
import type { Trusted } from './trusted.ts';

interface Options {
  /** The header in which a proxy passes on the certificate it has seen; null: none. */
  readonly certificateHeader: string | null;
  readonly now: () => Date;
  readonly proxies: BlockList;
  readonly trusted: Trusted;
}

export type Identify = (request: FastifyRequest, body: Buffer) => Promise<Identity>;

/**
 * Who sent a request: from the certificate of the connection, a trusted proxy's header, or the signature over the body.
 */
export function createIdentify({ certificateHeader, now, proxies, trusted }: Options): Identify {
  function presented(request: FastifyRequest, body: Buffer): Presented {
    const { socket } = request.raw;
    const isOfProxy = certificateHeader !== null && isListed(proxies, socket.remoteAddress ?? '');
    return {
      body,
      tls: socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.raw : undefined,
      // from any other address it proves nothing
      header: isOfProxy ? headerOf(request, certificateHeader) : undefined,
      signature: headerOf(request, 'mdm-signature'),
    };
  }

  return async (request, body) => {
    const given = presented(request, body);
    const known = await trusted.get();
    try {
      if (known) return await identify(given, known.trust, now());
    } catch (error) {
      if (!(error instanceof MdmError) || error.code !== 'CERTIFICATE_FOREIGN') throw error;
    }
    const newer = await trusted.again();
    if (!newer) throw refused('No authority for phone certificates is configured.');
    return identify(given, newer.trust, now());
  };
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
