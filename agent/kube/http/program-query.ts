/** The query of a request for a program or for ports. */
export interface ProgramQuery {
  readonly container: string;
  /** The program and its arguments as one line; empty for a program that is running already. */
  readonly command: string;
  readonly isTerminal: boolean;
  /** It reads standard input. */
  readonly hasInput: boolean;
  /** Ports of a forwarding over a WebSocket's channels. */
  readonly ports: readonly number[];
}

/** Reads the query of a target. Pure; never throws. */
export function programQuery(target: string): ProgramQuery {
  const at = target.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : target.slice(at + 1));
  const ports = query.getAll("ports").flatMap((text) => text.split(",").map(Number));
  return {
    container: query.get("container") ?? "",
    command: query.getAll("command").map(shown).join(" "),
    isTerminal: isTrue(query.get("tty")),
    hasInput: isTrue(query.get("stdin")),
    ports: ports.filter((port) => Number.isInteger(port) && port > 0 && port < 65_536).slice(0, 64),
  };
}

/** Boolean of a query as Kubernetes reads it: anything but these is true. */
function isTrue(value: string | null): boolean {
  return value !== null && !["false", "0"].includes(value.toLowerCase());
}

/** An argument as a shell would take it. */
function shown(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
