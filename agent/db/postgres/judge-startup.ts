import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DatabaseNames } from "../engine.ts";
import type { Parameter, StartupPacket } from "./first-packet.ts";
import { startupSettings } from "./startup-settings.ts";

/** How a client introduces itself. */
export interface Introduction {
  readonly user: string;
  readonly name: string;
  /** The program, as it names itself. */
  readonly userAgent?: string;
  /** The kind of replication that it wants. */
  readonly replication?: "physical" | "logical";
  /** Settings of the session, as `name=value`. */
  readonly settings?: readonly string[];
}

/** Longest name, bytes. The server truncates longer ones: a role could allow one name, and the server open another. */
const maxName = 63;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The account and the database that a client wants; the one that it does not state is the one that the stream was opened for, and a database without
 * any name is that of the user's name, as at the server. Throws PlatformError `invalid`, `denied`, `not_found`. Pure.
 */
export function judgeStartup({ parameters }: StartupPacket, asked: DatabaseNames): Introduction {
  const stated = statedText(parameters, "user");
  const user = stated || asked.user;
  if (user === undefined) throw new PlatformError("denied", "the client did not state a database user", { hint: "state one, as in: psql -U alice" });
  const name = statedText(parameters, "database") || asked.name || user;
  const replication = replicationOf(parameters);
  requireSame("database user", user, asked.user);
  // A physical replica copies the whole server, which ignores the name: pg_receivewal states "replication".
  if (replication !== "physical") requireSame("database", name, asked.name);
  if (Buffer.byteLength(user) > maxName) throw new PlatformError("denied", `the name of the database user has more than ${maxName} bytes`);
  if (Buffer.byteLength(name) > maxName) throw new PlatformError("not_found", `the name of the database has more than ${maxName} bytes`);
  const application = parameters
    .findLast((parameter) => parameter.name === "application_name")
    ?.value.toString("utf8")
    .slice(0, 256);
  const settings = startupSettings(parameters);
  return {
    user,
    name,
    ...(application && { userAgent: application }),
    ...(replication && { replication }),
    ...(settings.length > 0 && { settings }),
  };
}

function requireSame(what: string, stated: string, opened: string | undefined): void {
  if (opened === undefined || opened === stated) return;
  const message = `the client asked for ${what} ${JSON.stringify(stated)}, and this connection was opened for ${JSON.stringify(opened)}`;
  const option = what === "database user" ? "--db-user" : "--db-name";
  throw new PlatformError("denied", message, { hint: `connect as the same one, or open the tunnel with ${option}=${stated}` });
}

/** Undefined: none. All that the server does not read as "database" or "off" counts as physical, including what it would refuse. */
function replicationOf(parameters: readonly Parameter[]): Introduction["replication"] {
  const value = only(parameters, "replication")?.toString("latin1");
  if (value === undefined || ["off", "false", "no", "0"].includes(value.toLowerCase())) return undefined;
  return value === "database" ? "logical" : "physical";
}

/** Undefined: not stated. An empty one is not stated either, for the server. */
function statedText(parameters: readonly Parameter[], name: string): string | undefined {
  const value = only(parameters, name);
  if (value === undefined) return undefined;
  try {
    return utf8.decode(value);
  } catch (cause) {
    throw new PlatformError("invalid", `the ${name} in the startup packet is not UTF-8`, { cause });
  }
}

/** The server takes the last of two, and readers of the first one would be misled. */
function only(parameters: readonly Parameter[], name: string): Buffer | undefined {
  const [first, second] = parameters.filter((parameter) => parameter.name === name);
  if (second !== undefined) throw new PlatformError("invalid", `the startup packet states ${name} twice`);
  return first?.value;
}

/** The parameters for the server: the client's own, with the account and the database that were authorized. Pure. */
export function startupFor({ minor, parameters }: StartupPacket, { user, name }: Introduction): Omit<StartupPacket, "kind"> {
  const own = new Set(["user", "database"]);
  const others = parameters.filter((parameter) => !own.has(parameter.name));
  const of = (parameter: string, text: string): Parameter => ({ name: parameter, value: Buffer.from(text) });
  return { minor, parameters: [of("user", user), of("database", name), ...others] };
}
