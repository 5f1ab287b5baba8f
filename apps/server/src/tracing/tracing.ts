import { AsyncLocalStorage } from 'node:async_hooks';
import type { Engine, Observer, Ran, Transition } from '@muster/engine';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestTrace } from './request-trace.ts';
import { traceEngine } from './trace-engine.ts';
import { ActionTraces, readTraceparent, type TraceContext, writeTraceparents } from './trace-ids.ts';
import type { Tracer } from './tracer.ts';

/**
 * One trace per action, from the statement that queued it to the report that ended it, whichever nodes they ran at:
 *
 *   enqueue (statement)                 the first span
 *     POST /api/hosts/:hostId/actions   the request that queued it
 *     claim-slots                       the statement that handed it out
 *     GET /api/control/queue            the request that got it, of another node perhaps
 *       wait for work                   until it was woken
 *     restart                           the attempt at the agent, if it sends traces too
 *       POST /api/control/report        its report
 *     report                            the statement that ended it
 *
 * A request is also in its caller's trace, if it came with one.
 */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #share: number;
  /** Until the engine has started, nothing is traced. */
  #traces: ActionTraces | null = null;
  readonly #current = new AsyncLocalStorage<RequestTrace>();
  readonly #requests = new WeakMap<FastifyRequest, RequestTrace>();

  constructor(tracer: Tracer, share: number) {
    this.#tracer = tracer;
    this.#share = share;
  }

  begin(incarnation: string): void {
    this.#traces = new ActionTraces(incarnation, this.#share);
  }

  engine(engine: Engine): Engine {
    return traceEngine(engine, (ids) => {
      const request = this.#current.getStore();
      if (!request) return;
      for (const id of ids) {
        const trace = this.#traces?.of(id);
        if (trace) request.add(id, trace);
      }
    });
  }

  readonly observer: Required<Pick<Observer, 'transitions' | 'woken'>> = {
    transitions: (transitions, by) => {
      const to = epochMs();
      for (const transition of transitions) this.#addStatement(transition, by, to);
    },
    woken: () => {
      const request = this.#current.getStore();
      if (request) request.wokenAt = epochMs();
    },
  };

  addTo(app: FastifyInstance): void {
    // After the body was read: its events come from outside of the request's context.
    app.addHook('preHandler', (request, _reply, done) => {
      const trace = new RequestTrace();
      this.#requests.set(request, trace);
      this.#current.run(trace, done);
    });
    app.addHook('onSend', (request, reply, payload, done) => {
      const actions = this.#requests.get(request)?.actions;
      if (actions && actions.size > 0) reply.header('muster-traceparents', writeTraceparents([...actions]));
      done(null, payload);
    });
    app.addHook('onResponse', (request, reply, done) => {
      const trace = this.#requests.get(request);
      if (trace) this.#addRequest(request, reply, trace);
      done();
    });
  }

  close(): Promise<void> {
    return this.#tracer.close();
  }

  #addStatement(transition: Transition, { operation = 'transaction', since, size }: Ran, to: number): void {
    const trace = this.#traces?.of(transition.actionId);
    if (!trace) return;
    const { events } = transition;
    const isFirst = events.includes('CREATED');
    this.#tracer.add({
      name: operation,
      kind: 'database',
      traceId: trace.traceId,
      ...(isFirst ? { spanId: trace.spanId } : { parent: trace.spanId }),
      from: performance.timeOrigin + since,
      to,
      attributes: {
        'db.system.name': 'postgresql',
        'db.operation.batch.size': size,
        'muster.action.id': transition.actionId,
        'muster.action.attempt': transition.attempt,
        'muster.action.channel': transition.channel,
        'muster.action.events': [...events],
        'muster.tenant': transition.tenantId,
      },
      hasFailed: events.some((event) => FAILURES.has(event)),
    });
  }

  #addRequest(request: FastifyRequest, reply: FastifyReply, { actions, wokenAt }: RequestTrace): void {
    // without a token anybody could fill the collector
    const caller = request.caller ? readTraceparent(request.headers.traceparent) : null;
    if (actions.size === 0 && !caller) return;
    const to = epochMs();
    const route = request.routeOptions.url ?? 'unknown';
    const of = {
      name: `${request.method} ${route}`,
      kind: 'server' as const,
      from: to - reply.elapsedTime,
      to,
      attributes: {
        'http.request.method': request.method,
        'http.response.status_code': reply.statusCode,
        'http.route': route,
        'muster.request': request.id,
      },
      hasFailed: reply.statusCode >= 500,
    };
    const links: TraceContext[] = [];
    for (const [id, { root, spanId, traceId }] of actions) {
      const isOfCaller = caller?.traceId === traceId;
      this.#tracer.add({
        ...of,
        traceId,
        spanId,
        parent: isOfCaller ? caller.spanId : root,
        attributes: { ...of.attributes, 'muster.action.id': id },
        links: caller && !isOfCaller ? [caller] : [],
      });
      if (wokenAt !== null)
        this.#tracer.add({
          name: 'wait for work',
          kind: 'internal',
          traceId,
          parent: spanId,
          from: of.from,
          to: wokenAt,
          attributes: {},
        });
      if (!isOfCaller) links.push({ spanId, traceId });
    }
    const isInItsTrace = caller && links.length === actions.size;
    if (isInItsTrace) this.#tracer.add({ ...of, traceId: caller.traceId, parent: caller.spanId, links });
  }
}

const FAILURES: ReadonlySet<string> = new Set(['FAILED', 'FAILED_FINAL', 'TIMEOUT', 'EXPIRED']);

const epochMs = () => performance.timeOrigin + performance.now();
