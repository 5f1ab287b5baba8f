export { type CallLog, createCallLog } from './call-log.ts';
export { checkHistory, type Violation, type ViolationKind } from './check-history.ts';
export { type TestClock, testClock } from './clock.ts';
export { type History, type HistoryAction, type HistoryEvent, readHistory } from './history.ts';
export { brokenInvariants } from './invariants.ts';
export { cut, type Sabotage, sabotage, swap } from './sabotage.ts';
export { createSessions, type Sessions } from './sessions.ts';
export { testDatabase } from './test-database.ts';
export { TENANT, type TestEngine, testEngine } from './test-engine.ts';
