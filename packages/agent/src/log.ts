/** Where the agent logs what it does, in sentences for people. */
export interface AgentLog {
  info(sentence: string): void;
  warn(sentence: string): void;
}
