import type { IncomingMessage } from 'node:http';
import { overloaded, Room } from '@muster/engine';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { httpError } from './errors.ts';
import { announcesBody } from './unread-body.ts';

/**
 * Bounds the bodies of all unanswered requests, fairly between tenants, from before they are read: 700 bodies that
 * never arrived whole held 580 MB. A request also holds its body while it waits for its call to be gathered (for its
 * lane, a look-up, its turn for a change): 3,000 of 100 KB used up a heap of 512 MB.
 *
 *   token good ──► room for the announced length? ──no──► 503, unread
 *                        │ yes
 *                        ▼
 *                  read ──not whole in time──► 408
 *                        │
 *                        ▼
 *                  the unused part is given back ──► answered or gone: all of it
 *
 * A route that takes a stream reads it itself and has its own bounds.
 */
const SMALL_BYTES = 4_096;
/** For a body to arrive: the largest, 16 MiB, takes 27 s at 5 Mbit/s. */
const ARRIVES_WITHIN_MS = 30_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** The length of the body, once it is read. */
    bodyBytes: number;
    /** Runs while the body is being read. */
    bodyTimer: NodeJS.Timeout | undefined;
    /** Gives back what is held beyond this many bytes. */
    keepOnly: ((bytes: number) => void) | undefined;
  }
}

export function boundBodies(app: FastifyInstance, limits: { bytes: number; ms?: number | undefined }): void {
  const room = new Room({ calls: Number.MAX_SAFE_INTEGER, bytes: limits.bytes });
  const ms = limits.ms ?? ARRIVES_WITHIN_MS;
  app.decorateRequest('bodyTimer', undefined);
  app.decorateRequest('keepOnly', undefined);

  /** False: no room. */
  function enter(request: FastifyRequest, reply: FastifyReply, bytes: number): boolean {
    const tenant = request.caller?.tenantId ?? -1; // no tenant
    const { socket } = request.raw;
    if (!room.enter(tenant, bytes)) return false;
    let held = bytes;
    request.keepOnly = (least) => {
      if (least < held) room.shrink(tenant, held - least);
      held = Math.min(held, least);
    };
    // On the first of the two events: a request behind another on its connection has no answer that could close yet.
    const leave = () => {
      reply.raw.off('close', leave);
      socket.off('close', leave);
      room.leave(tenant, held);
      held = 0;
    };
    reply.raw.once('close', leave);
    socket.once('close', leave);
    return true;
  }

  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { raw } = request;
    if (!announcesBody(raw) || isReadElsewhere(request) || raw.socket.destroyed) return done();
    const bytes = lengthOf(request);
    if (bytes > SMALL_BYTES && !enter(request, reply, bytes)) {
      reply.header('connection', 'close'); // the body is not read
      return done(overloaded());
    }
    if (!raw.complete) request.bodyTimer = setTimeout(() => giveUp(raw, reply), ms);
    return done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    clearTimeout(request.bodyTimer);
    request.keepOnly?.(request.bodyBytes);
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    clearTimeout(request.bodyTimer); // a refused request does not reach its validation
    done(null, payload);
  });
}

function isReadElsewhere({ method, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.takes !== undefined || method === 'GET' || method === 'HEAD';
}

/**
 * A body that is too long is refused by its length alone, so it needs no room; one of unknown length may be as long as
 * allowed.
 */
function lengthOf({ headers, routeOptions }: FastifyRequest): number {
  const length = headers['content-length'];
  if (length === undefined) return routeOptions.bodyLimit;
  return Number(length) > routeOptions.bodyLimit ? 0 : Number(length);
}

/** The reader of the body gets it as an error of the stream; the connection stays open for the answer. */
function giveUp(body: IncomingMessage, reply: FastifyReply): void {
  if (body.readableEnded || body.destroyed || body.listenerCount('error') === 0) return;
  reply.header('connection', 'close');
  body.emit('error', httpError('MUSTER_TOO_SLOW', 'The body did not arrive in time.'));
}
