import type { Cluster } from 'node:cluster';
import type { Child } from './supervisor.ts';

/** Starts this program once more; Node shares the port among the processes. */
export function clusterChild(cluster: Cluster): Child {
  const worker = cluster.fork();
  return {
    pid: worker.process.pid,
    // it may have just ended, which its exit reports
    send: (message) => void (worker.isConnected() && worker.send(message, () => {})),
    kill: (signal) => void worker.process.kill(signal),
    onMessage: (heard) => void worker.on('message', heard),
    onExit: (ended) => void worker.on('exit', ended),
  };
}
