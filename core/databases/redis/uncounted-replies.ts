/** SHUTDOWN has no reply; after the others there is not one reply for each command. */
const uncounted = new Set(["subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "monitor", "shutdown"]);

/** Whether replies cannot be counted after this command, so that nobody knows which of them is awaited. Both words in lower case. Pure. */
export function isUncounted(name: string, subcommand: string): boolean {
  return uncounted.has(name) || (name === "client" && subcommand === "reply") || (name === "script" && subcommand === "debug");
}
