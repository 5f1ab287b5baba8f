export { type TestClock, testClock } from './clock.ts';
export { testDatabase } from './test-database.ts';
export { type TestEngine, testEngine } from './test-engine.ts';
