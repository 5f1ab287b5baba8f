import type { Told, Wanted } from './messages.ts';
import { openStream } from './stream.ts';

/**
 * Holds the stream for all tabs of the browser: without HTTP/2 a browser has six connections to a server, and a sixth tab with its
 * own stream would hang every request. One stream per tenant, as long as a visible tab wants it.
 */
interface Holder {
  readonly ports: Set<MessagePort>;
  readonly close: () => void;
  /** What a tab that joins later has missed. */
  last: Told | undefined;
}
const holders = new Map<string, Holder>();

function join(tenant: string, port: MessagePort) {
  const known = holders.get(tenant);
  if (known) {
    known.ports.add(port);
    if (known.last) port.postMessage(known.last);
    return;
  }
  const ports = new Set([port]);
  const holder: Holder = {
    ports,
    last: undefined,
    close: openStream(tenant, (told) => {
      if (told.type === 'open' || told.type === 'lost') holder.last = told;
      for (const one of ports) one.postMessage(told);
    }),
  };
  holders.set(tenant, holder);
}

function leave(tenant: string, port: MessagePort) {
  const holder = holders.get(tenant);
  holder?.ports.delete(port);
  if (!holder || holder.ports.size > 0) return;
  holder.close();
  holders.delete(tenant);
}

// a shared worker has other types than a page
const scope = self as unknown as { onconnect: (event: MessageEvent) => void };
scope.onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<Wanted>) => {
    if (data.wanted) join(data.tenant, port);
    else leave(data.tenant, port);
  };
};
