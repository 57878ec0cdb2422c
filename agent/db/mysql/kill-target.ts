/** `KILL [HARD | SOFT] [CONNECTION | QUERY] number`, as the clients of MySQL and MariaDB write it to interrupt a query. */
const kill = /^(\s*KILL\s+(?:(?:HARD|SOFT)\s+)?(?:(?:CONNECTION|QUERY)\s+)?)(\d{1,10})(\s*;?\s*)$/i;
/** Longest statement that may be one, bytes. */
export const maxKill = 128;

/**
 * The same statement with the server's number of a connection instead of the one that its client was greeted with. Undefined: it is another statement,
 * or it names no connection of this agent. Pure.
 */
export function killAtServer(text: string, threadOf: (own: number) => number | undefined): string | undefined {
  const match = kill.exec(text);
  const thread = match === null ? undefined : threadOf(Number(match[2]));
  return match === null || thread === undefined ? undefined : `${match[1]}${thread}${match[3]}`;
}
