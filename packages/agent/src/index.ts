/** The whole public surface of the agent, by name. */
export { type Agent, type AgentOptions, createAgent } from './agent.ts';
export { AllowList } from './allow-list.ts';
export { ServerRefused } from './client.ts';
export { enrol } from './enrol.ts';
export type { ExecutionContext, Executor, Outcome } from './executor.ts';
export { runProgram } from './run-program.ts';
export { systemctl } from './systemctl.ts';
export type { AgentAction } from './wire.ts';
