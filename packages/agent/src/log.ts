/** Where the agent says what it does; sentences for people. */
export interface AgentLog {
  info(sentence: string): void;
  warn(sentence: string): void;
}
