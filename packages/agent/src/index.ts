/** The whole public surface of the agent, by name. */
export { type Agent, type AgentOptions, createAgent } from './agent.ts';
export { AllowList } from './allow-list.ts';
export { enrol } from './enrol.ts';
export type { ExecutionContext, Executor, Outcome } from './executor.ts';
export { ServerRefused } from './requests.ts';
export { runProgram } from './run-program.ts';
export { execScript, type ScriptOptions } from './runner/exec-script.ts';
export { createRunner, type Runner, type RunnerOptions } from './runner/runner.ts';
export type { TaskDevice } from './runner/wire.ts';
export { systemctl } from './systemctl.ts';
export type { AttemptTracing } from './tracing.ts';
export type { AgentAction } from './wire.ts';
export type { WorkLoop } from './work-loop.ts';
