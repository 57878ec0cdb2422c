/** `KILL [HARD | SOFT] [CONNECTION | QUERY] number`, as the clients of MySQL and MariaDB write it to interrupt a query. */
const kill = /^(\s*KILL\s+(?:(?:HARD|SOFT)\s+)?(?:(?:CONNECTION|QUERY)\s+)?)(\d{1,10})(\s*;?\s*)$/i;
/** Longest statement that may be one, bytes. */
export const maxKill = 128;

export interface KillTarget {
  /** The connection that the statement names. */
  readonly own: number;
  /** The same statement for the connection that the server calls `thread`. */
  at(thread: number): string;
}

/** What a statement kills; undefined: it is another statement. Pure. */
export function killTarget(text: string): KillTarget | undefined {
  const match = kill.exec(text);
  return match === null ? undefined : { own: Number(match[2]), at: (thread) => `${match[1]}${thread}${match[3]}` };
}
