/**
 * The engine's name of a statement, without the effects it carries and without what tells its texts apart: in a process
 * that has used another schema before, the same statement is `muster_claim~2`.
 */
export const statementName = (name: string | undefined) => (name ?? '').split(/[+~]/, 1)[0] as string;
