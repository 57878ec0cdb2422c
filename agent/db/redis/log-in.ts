import type { Duplex } from "node:stream";
import { encodeError } from "../../../core/databases/redis/error-reply.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSession } from "../engine.ts";
import { askServer, errorOf } from "./ask-server.ts";
import { wordAt } from "./command.ts";
import { commandEvent } from "./command-event.ts";
import { commandOf } from "./command-of.ts";
import { helloAccounts, judgeCommand } from "./judge-command.ts";
import { type ParsedCommand, parseCommand } from "./parse-command.ts";
import { readUntil } from "./read-until.ts";
import { encodeCommand, openingOf } from "./resp.ts";

/** Time that a client has to log in, ms, and its commands until then. */
const loginMs = 60_000;
const maxTries = 50;

/** The account that an AUTH or HELLO names; undefined: the command is another one. */
function accountIn({ words }: ParsedCommand): string | undefined {
  const command = commandOf(words);
  if (wordAt(command, 0) === "auth" && command.count === 2) return "default";
  if (wordAt(command, 0) === "auth" && command.count === 3) return words[1]?.toString("utf8");
  if (wordAt(command, 0) !== "hello") return undefined;
  const place = helloAccounts(command).at(-1);
  return place === undefined ? undefined : words[place]?.toString("utf8");
}

/**
 * Waits for the account that the client names by AUTH or HELLO, and leaves that command in the stream; other commands are answered as by a server that requires a
 * login. Undefined: the client has left.
 */
export async function awaitAccount(session: EngineSession): Promise<string | undefined> {
  const { client } = session;
  const until = Date.now() + loginMs;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const next = await nextCommand(session, until);
    if (next === undefined) return undefined;
    const { command, raw } = next;
    const account = accountIn(command);
    if (account !== undefined) {
      client.unshift(raw);
      return account;
    }
    if (answered(client, command) === "quit") return undefined;
  }
  throw new PlatformError("unauthenticated", "too many commands before AUTH");
}

/**
 * As which account the server sees the session: "other" includes the default account without a password, and none at all; "unknown" where the account may not ask.
 * Throws for another refusal of the server.
 */
export async function askAccount(server: Duplex, user: string, signal: AbortSignal): Promise<"own" | "other" | "unknown"> {
  const reply = await askServer(server, encodeCommand(["ACL", "WHOAMI"]), signal);
  const error = errorOf(reply);
  const name = Buffer.from(user);
  const own = Buffer.concat([Buffer.from(`$${name.length}\r\n`), name, Buffer.from("\r\n")]);
  if (error === undefined) return reply.equals(own) ? "own" : "other";
  if (error.startsWith("NOPERM User ")) return error.startsWith(`NOPERM User ${user} has no permissions`) ? "own" : "other";
  if (error.startsWith("NOAUTH")) return "other";
  if (/^(?:NOPERM|ERR unknown command)/.test(error)) return "unknown";
  throw new PlatformError("unavailable", `the server refused the connection: ${error.slice(0, 500)}`);
}

/** Lets the client log in at the server as `user` only, one command at a time; nothing else reaches the server before that. False: the client has left. */
export async function letLogIn(session: EngineSession, server: Duplex, user: string): Promise<boolean> {
  const { client, signal } = session;
  const until = Date.now() + loginMs;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const next = await nextCommand(session, until);
    if (next === undefined) return false;
    const { command, raw } = next;
    session.touch();
    session.count({ received: raw.length });
    const account = accountIn(command);
    if (account === undefined) {
      if (answered(client, command) === "quit") return false;
      continue;
    }
    const facts = { command: commandOf(command.words), user, bytes: command.words.reduce((sum, word) => sum + word.length, 0) };
    const judgement = judgeCommand(facts.command, { user, isCertified: false });
    if (typeof judgement !== "string" && "refuse" in judgement) {
      const error = judgement.refuse;
      await session.record(commandEvent({ ...facts, error }));
      client.write(encodeError("NOPERM", error));
      continue;
    }
    const reply = await sendLogin(server, command, { user, signal }).catch((thrown: unknown) => {
      // The failure is its answer.
      client.unshift(raw);
      throw thrown;
    });
    const error = errorOf(reply);
    // The rest of the error can repeat what the client sent.
    await session.record(commandEvent({ ...facts, error: error === undefined ? undefined : `the server answered ${/^\w*/.exec(error)?.[0] ?? ""}` }));
    client.write(reply);
    session.count({ transmitted: reply.length });
    if (error === undefined) return true;
  }
  throw new PlatformError("unauthenticated", "too many commands before the login");
}

/** The server's reply to a login. */
async function sendLogin(server: Duplex, command: ParsedCommand, as: { readonly user: string; readonly signal: AbortSignal }): Promise<Buffer> {
  const { user, signal } = as;
  const reply = await askServer(server, command.encoded, signal);
  if (errorOf(reply) === undefined && (await askAccount(server, user, signal)) === "other")
    throw new PlatformError("denied", `the server did not log the session in as ${JSON.stringify(user)}`);
  return reply;
}

interface Next {
  readonly command: ParsedCommand;
  readonly raw: Buffer;
}

/** Undefined: the client has left. */
async function nextCommand(session: EngineSession, until: number): Promise<Next | undefined> {
  let opening: Buffer | undefined;
  const parse = (bytes: Buffer) => {
    opening = openingOf(bytes);
    const command = parseCommand(bytes);
    return command && { value: { command, raw: Buffer.from(bytes.subarray(0, command.length)) }, length: command.length };
  };
  const { client, signal } = session;
  try {
    return await readUntil(client, parse, { timeoutMs: Math.max(1, until - Date.now()), signal, what: "AUTH from the client" });
  } catch (thrown) {
    const { code } = toPlatformError(thrown);
    if (code === "unavailable" && !signal.aborted) return undefined;
    if (code === "invalid") await session.record({ event: "db.session.malformed_packet", payload: opening?.toString("base64") ?? "" });
    throw thrown;
  }
}

/** Answers a command before the login as a server does. */
function answered(client: Duplex, { words }: ParsedCommand): "quit" | "on" {
  if (words.length === 0) return "on";
  const isQuit = wordAt(commandOf(words), 0) === "quit";
  client.write(isQuit ? "+OK\r\n" : encodeError("NOAUTH", "Authentication required."));
  return isQuit ? "quit" : "on";
}
