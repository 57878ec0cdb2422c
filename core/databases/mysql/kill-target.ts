/** `KILL [HARD | SOFT] [CONNECTION | QUERY] number`, as the clients of MySQL and MariaDB write it to interrupt a query. */
const kill = /^(\s*KILL\s+(?:(?:HARD|SOFT)\s+)?(?:(?:CONNECTION|QUERY)\s+)?)(\d{1,10})(\s*;?\s*)$/i;
/** Longest statement that may be one, bytes. */
export const maxKill = 128;

/** The lowest number that agents and proxies give to a connection: servers count from 1, and do not come that far, but for those whose numbers say more (TiDB). */
export const lowestGiven = 2 ** 31;
/** How many there are from it on. */
export const givenNumbers = 2 ** 31;

/** Whether agents and proxies give such numbers, and most servers do not. Pure. */
export function isGiven(number: number): boolean {
  return number >= lowestGiven && number < lowestGiven + givenNumbers;
}

export interface KillTarget {
  /** The connection that the command names. */
  readonly own: number;
  /** The same command for the connection that the server calls `thread`. */
  at(thread: number): Buffer;
}

/** What a statement kills; undefined: it is another statement. Pure. */
export function killTarget(statement: Buffer): KillTarget | undefined {
  if (statement.length > maxKill) return undefined;
  const match = kill.exec(statement.toString("latin1"));
  return match === null ? undefined : { own: Number(match[2]), at: (thread) => Buffer.from(`${match[1]}${thread}${match[3]}`, "latin1") };
}
