import { serialize } from "bson";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { editedDocument, elementsOf, textOf } from "./bson-elements.ts";
import { isStartupLog } from "./concerns-all.ts";
import { isHello, serverHello } from "./hello.ts";
import { harmless, isNotOffered, type NamedCommand } from "./known-commands.ts";
import { allDatabases, maxFields, namedDatabases } from "./named-databases.ts";
import type { Request } from "./wire-message.ts";

/** The rules of a session for its commands. */
export interface CommandRules {
  /** The account at the server. */
  readonly account: string;
  readonly mayUse: (database: string) => boolean;
  /** Whether a `killSessions` is for sessions of the user alone. Default: of none. */
  readonly areOwnSessions?: (command: Buffer) => boolean;
}

/** What happens to a command. */
export type CommandVerdict =
  | { readonly kind: "pass" }
  /** Another command goes to the server in its place. */
  | { readonly kind: "replace"; readonly command: Buffer }
  /** `command` goes to the server, and its answers are rewritten. */
  | { readonly kind: "hello"; readonly command: Buffer }
  /** The agent answers it; the server never sees it. */
  | { readonly kind: "answer"; readonly document: Buffer }
  | { readonly kind: "refuse"; readonly error: PlatformError };

/** Commands whose `$db` is admin by their nature, and whose databases stand in the command. */
const namesItsOwn = new Set(["renameCollection", "bulkWrite"]);
const logins = new Set(["saslStart", "saslContinue", "getnonce", "logout"]);
/** Commands that take documents in sequences, and the names of these. */
const sequenceNames = new Map<string, readonly string[]>([
  ["insert", ["documents"]],
  ["update", ["updates"]],
  ["delete", ["deletes"]],
  ["bulkWrite", ["ops", "nsInfo"]],
]);

/** The namespace of an OP_QUERY that is a command; with any other one it searches a collection, and its document is the filter. */
const commandNamespace = /^[^.]+\.\$cmd$/;

/** Decides about a command of a client. Throws `invalid` for one that is malformed. Pure. */
export function judgeCommand(request: Request, rules: CommandRules): CommandVerdict {
  const { command } = request;
  const seen = new Set<string>();
  let name: string | undefined;
  let database: string | undefined;
  for (const element of elementsOf(command, maxFields)) {
    const { key } = element;
    name ??= key;
    if (seen.has(key)) return refused("invalid", `field ${JSON.stringify(key.slice(0, 100))} stands twice in the command`);
    seen.add(key);
    if (key === "$db") database = textOf(element);
  }
  if (name === undefined) return refused("invalid", "the command is empty");
  if (request.namespace !== undefined && !(isHello(name) && commandNamespace.test(request.namespace))) return queryRefused(request.namespace);
  if (isHello(name)) return { kind: "hello", command: serverHello(command) };
  if (name === "authenticate") return authenticated(command, rules.account);
  if (logins.has(name)) return loginRefused(name, rules.account);
  if (isNotOffered(name)) return refused("denied", `command ${name} is not offered through the platform`);
  if (!hasOwnSequences(name, request)) return refused("invalid", `command ${name} takes no such document sequence`);
  if (database === undefined) return refused("invalid", "the command names no database ($db)");
  return byNames({ name, database }, request, rules);
}

function byNames(named: NamedCommand, request: Request, rules: CommandRules): CommandVerdict {
  const { name, database } = named;
  const { command } = request;
  const mayUseOwn = rules.mayUse(database);
  if (!mayUseOwn && !isHarmless(name, command) && !(namesItsOwn.has(name) && database === "admin")) return deniedDatabase(database, rules.account);
  const denied = [...namedDatabases(named, request)].find((one) => !rules.mayUse(one));
  if (denied !== undefined) return deniedDatabase(denied, rules.account);
  if (name === "killSessions" && rules.areOwnSessions?.(command) !== true && !rules.mayUse(allDatabases)) return othersSessions();
  if (name !== "listDatabases" || mayUseOwn) return { kind: "pass" };
  return { kind: "replace", command: editedDocument(command, (key) => key !== "authorizedDatabases", { authorizedDatabases: true }) };
}

function isHarmless(name: string, command: Buffer): boolean {
  return harmless.has(name) || (name === "getLog" && isStartupLog(command));
}

function hasOwnSequences(name: string, { sequences, isWhole }: Request): boolean {
  const names = sequenceNames.get(name);
  if (names === undefined) return sequences.length === 0 && isWhole;
  return sequences.every((one) => names.includes(one.name) || (one.name === "" && !isWhole));
}

/** The agent has logged in by certificate already: the client gets the answer to a login of its own. */
function authenticated(command: Buffer, account: string): CommandVerdict {
  const fields = new Map([...elementsOf(command)].map((element) => [element.key, element]));
  if (textOf(fields.get("mechanism")) !== "MONGODB-X509") return loginRefused("authenticate", account);
  const user = textOf(fields.get("user"));
  const own = `CN=${account}`;
  if (user !== undefined && user !== "" && user !== own) {
    const hint = "leave the user out of the connection string, or choose another one with --db-user";
    return refused("unauthenticated", `this connection belongs to ${own}, not to ${user.slice(0, 256)}`, hint);
  }
  return { kind: "answer", document: Buffer.from(serialize({ dbname: "$external", user: own, ok: 1 })) };
}

function loginRefused(name: string, account: string): CommandVerdict {
  if (name === "logout" || name === "getnonce") return refused("denied", `command ${name} is not offered: the agent has logged in as ${account}`);
  const hint = "leave user and password empty in the connection string";
  return refused("unauthenticated", `the agent has logged in as ${account} by certificate, and takes no password`, hint);
}

function queryRefused(namespace: string): CommandVerdict {
  const what = `OP_QUERY is for hello only, not for ${JSON.stringify(namespace.slice(0, 100))}`;
  return refused("unsupported", what, "use a driver for MongoDB 4.0 or later");
}

function deniedDatabase(database: string, account: string): CommandVerdict {
  if (database === allDatabases)
    return refused("denied", `access to all databases denied for account ${account}`, 'no role allows all of them in db_names ("*")');
  return refused(
    "denied",
    `access to database name ${JSON.stringify(database.slice(0, 100))} denied for account ${account}`,
    "no role allows it in db_names",
  );
}

function othersSessions(): CommandVerdict {
  const what = "killSessions is refused: it names no session, or one that your own connections have not used, and others may use this account too";
  return refused("denied", what, "state the ids of sessions that you have used; those of others need all databases in db_names");
}

function refused(code: "invalid" | "denied" | "unauthenticated" | "unsupported", message: string, hint?: string): CommandVerdict {
  return { kind: "refuse", error: new PlatformError(code, message, { hint }) };
}

/** Whether a command is a sign of the user and belongs into the audit; the others are the drivers' own. */
export function isAudited(name: string): boolean {
  return name !== "endSessions" && name !== "refreshSessions";
}

/** Name of a command: its first field. */
export function nameOf(command: Buffer): string {
  const [first] = elementsOf(command);
  return first?.key ?? "";
}
