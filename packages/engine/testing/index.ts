export { type TestClock, testClock } from './clock.ts';
export { brokenInvariants } from './invariants.ts';
export { testDatabase } from './test-database.ts';
export { TENANT, type TestEngine, testEngine } from './test-engine.ts';
