import type { Duplex } from "node:stream";
import { errorPacket, loginError, type MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import { isGiven } from "../../../core/databases/mysql/kill-target.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { DatabaseEvent, DatabaseNames, EngineSession } from "../engine.ts";
import { endError, schemaError } from "./error-for.ts";
import { greetClient, type MysqlSession } from "./greet-client.ts";
import { KnownGreetings } from "./known-greetings.ts";
import { logInToServer } from "./log-in-to-server.ts";
import { type LoginPacket, userAgentOf } from "./login-packet.ts";
import { relayCommands } from "./relay-commands.ts";
import { okPacket, rightAnswer } from "./server-answer.ts";
import { connectionThreads, ThreadNumbers } from "./thread-numbers.ts";

/** What the sessions of an agent share, and the facts of one connection. */
interface Connection {
  readonly greetings: KnownGreetings;
  readonly threads: ThreadNumbers;
  /** Under which its server is known. */
  readonly key: string;
  /** The number with which its client is greeted. */
  readonly connectionId: number;
}

/** A session that ends before any command, and the client's reason for it. */
interface Refusal {
  readonly why: PlatformError;
  readonly words: MysqlError;
}

/** Time for a client to read the reason of a refusal, ms. */
const farewellMs = 3_000;

/** An engine with its own memory of servers, and of connections by default. */
export function mysqlEngine(threads = new ThreadNumbers()): (session: MysqlSession) => Promise<PlatformError | undefined> {
  const greetings = new KnownGreetings();
  return async (session) => {
    const { client, database } = session;
    const connectionId = threads.take(ThreadNumbers.stated(session.reachedAt));
    client.on("error", () => {});
    try {
      return await serve(session, { greetings, threads, key: `${database.name} ${database.uri}`, connectionId });
    } finally {
      threads.release(connectionId);
      client.destroy();
    }
  };
}

/** Serves users of MySQL and MariaDB. */
export const serveMysql = mysqlEngine(connectionThreads);

async function serve(session: MysqlSession, connection: Connection): Promise<PlatformError | undefined> {
  const login = await greetClient(session, connection).catch(toPlatformError);
  if (login instanceof PlatformError) {
    // Nothing of the packet is kept: it holds an answer to a password.
    if (login.code === "invalid") await record(session, { event: "db.session.malformed_packet", payload: "" });
    return await farewell(session.client, refusalFor(session, login));
  }
  const names = namesOf(login, session.asked);
  if ("words" in names) {
    await record(session, { event: "db.session.start", success: false, error: names.why.message });
    return await farewell(session.client, names);
  }
  try {
    return await logInAndRelay(session, connection, { ...login, user: names.user, schema: names.name ?? "" });
  } catch (thrown) {
    return await farewell(session.client, refusalFor(session, toPlatformError(thrown)));
  }
}

async function logInAndRelay(session: MysqlSession, connection: Connection, login: LoginPacket): Promise<PlatformError | undefined> {
  const { client, signal } = session;
  const { greetings, threads, key, connectionId } = connection;
  const userAgent = userAgentOf(login.attributes);
  const names = { user: login.user, ...(login.schema !== "" && { name: login.schema }) };
  const access = await session.login(names, userAgent === undefined ? {} : { userAgent });
  let [isMariadb, givesHigh] = [false, false];
  const result = await logInToServer({
    access,
    login: { ...login, user: access.user },
    signal,
    onGreeting: (greeting) => {
      greetings.put(key, greeting);
      threads.bind(connectionId, key, greeting.connectionId);
      isMariadb = greeting.version.includes("MariaDB");
      givesHigh = isGiven(greeting.connectionId);
    },
  });
  if ("refusal" in result) return await farewell(client, { why: refusedByServer(result.refusal), words: result.refusal });
  client.write(login.awaitsWord ? Buffer.concat([rightAnswer(2), okPacket(3, result.status)]) : okPacket(2, result.status));
  const threadOf = (own: number): number | undefined => threads.threadOf(own, key);
  const end = await relayCommands({ session, server: result.socket, capabilities: login.capabilities, isMariadb, threadOf, givesHigh });
  if (end.malformed !== undefined) await record(session, { event: "db.session.malformed_packet", payload: end.malformed });
  return end.reason;
}

/** The account and the schema of a client: it may omit what the user has stated before, and must not contradict it. */
function namesOf({ user, schema }: LoginPacket, asked: DatabaseNames): (DatabaseNames & { readonly user: string }) | Refusal {
  const account = user === "" ? (asked.user ?? "") : user;
  const name = schema === "" ? asked.name : schema;
  if (account === "") return loginRefusal("no account was stated", "connect with --user=<account>");
  if (asked.user !== undefined && account !== asked.user) {
    return loginRefusal(`this connection is for the account ${asked.user}, not ${account}`, `connect with --user=${asked.user}`);
  }
  if (asked.name === undefined || name === asked.name) return { user: account, name };
  const why = new PlatformError("denied", `this connection is for the schema ${asked.name}, not ${name}`);
  return { why, words: schemaError(why) };
}

function loginRefusal(message: string, hint: string): Refusal {
  const why = new PlatformError("denied", message, { hint });
  return { why, words: loginError(why) };
}

function refusalFor({ signal }: EngineSession, why: PlatformError): Refusal {
  return { why, words: signal.aborted ? endError(why, false) : loginError(why) };
}

function refusedByServer({ code, message }: MysqlError): PlatformError {
  return new PlatformError("unavailable", `the database refused the login: ${message} (error ${code})`);
}

/** The session ends anyway. */
async function record(session: EngineSession, event: DatabaseEvent): Promise<void> {
  try {
    await session.record(event);
  } catch (thrown) {
    session.log.error("could not record an audit event of a database session", { event: event.event, error: thrown });
  }
}

/** Gives the client the reason in the protocol's words, and waits until it has taken it. */
async function farewell(client: Duplex, { why, words }: Refusal): Promise<PlatformError> {
  if (client.destroyed) return why;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, farewellMs);
  client.once("close", () => resolve());
  client.resume();
  client.end(errorPacket(2, words), () => resolve());
  await promise.finally(() => clearTimeout(timer));
  return why;
}
