import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { errorPacket, loginError } from "../../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import { sayFarewell } from "../../../../core/databases/say-farewell.ts";
import { PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import { endClientTls, type Front, type FrontServices, startMs } from "../front.ts";
import { type ReachedDatabase, reachDatabase } from "../reach-database.ts";
import { relayToAgent } from "../relay-client.ts";
import { earlyGreeting, greetedCapabilities, newConnectionId } from "./greeting.ts";
import { asksForTls, loginForAgent } from "./login.ts";
import { takePacket } from "./take-packet.ts";

/** Longest login packet, bytes: 64 KiB of attributes, and the names. */
const maxLogin = 68_000;
/** Longest packet of the agent up to the login, bytes. */
const maxAnswer = 16_384;
/** Time for the agent to answer a login: its server may be slow, ms. */
const answerMs = 60_000;
/** The error of a server with require_secure_transport. */
const withoutTls = { code: 3159, state: "HY000" } as const;
/** First byte of an error packet. */
const errorByte = 0xff;
/** Maximum packets that answer a login, the OK included. */
const maxAnswers = 4;

/**
 * Serves a client of MySQL or MariaDB: greets it before its database is known, ends its TLS, and passes its login on to the agent, whose greeting is the server's.
 * TLS takes one more packet on the client's side, so that the numbers of packets up to the OK differ by one.
 */
export const serveMysql: Front = async ({ socket, peer, established }, services) => {
  const { signal } = services;
  const connectionId = newConnectionId();
  socket.write(packet(0, earlyGreeting(services.mysqlVersion, connectionId)));
  if (!(await startedTls(socket, signal))) return;
  const tls = await endClientTls(socket, services, "mysql");
  const refuse = async (thrown: unknown): Promise<void> => await sayFarewell(tls, errorPacket(3, loginError(toPlatformError(thrown))), signal);
  const login = await takePacket(tls, { sequence: 2, maxLength: maxLogin, timeoutMs: startMs, what: "the client's login", signal });
  let reached: ReachedDatabase;
  try {
    reached = await reachDatabase({ tls, protocol: "mysql", peer, at: String(connectionId) }, services);
  } catch (thrown) {
    return await refuse(thrown);
  }
  const { agent } = reached;
  const leave = (): void => void agent.destroy();
  tls.once("close", leave);
  let refusal: Buffer | undefined;
  try {
    established();
    refusal = await passLogin({ tls, agent, login }, services);
  } catch (thrown) {
    agent.destroy();
    return await refuse(thrown);
  }
  tls.off("close", leave);
  if (refusal !== undefined) {
    agent.destroy();
    return await sayFarewell(tls, refusal, signal);
  }
  void relayToAgent({ tls, protocol: "mysql", peer, isLoggedIn: true }, reached, services);
};

/** False: the client did not ask for TLS, and was refused. */
async function startedTls(socket: Socket, signal: AbortSignal): Promise<boolean> {
  const first = await takePacket(socket, { sequence: 1, maxLength: maxLogin, timeoutMs: startMs, what: "the client's request for TLS", signal });
  if (asksForTls(first)) return true;
  const error = new PlatformError("denied", "this port requires TLS and a client certificate", { hint: "see: tsh db config" });
  await sayFarewell(socket, errorPacket(2, { ...loginError(error), ...withoutTls }), signal);
  return false;
}

interface Ends {
  readonly tls: TLSSocket;
  readonly agent: TLSSocket;
  readonly login: Buffer;
}

/**
 * Passes the login on, and its answers to the client. The result is the agent's error, numbered for the client and not sent to it yet; undefined: the client is
 * logged in. Throws what keeps the agent from getting the login.
 */
async function passLogin({ tls, agent, login }: Ends, { signal }: FrontServices): Promise<Buffer | undefined> {
  const take = async (sequence: number): Promise<Buffer> =>
    await takePacket(agent, { sequence, maxLength: maxAnswer, timeoutMs: answerMs, what: "the agent's answer", signal });
  const greeting = await take(0);
  if (greeting[0] === errorByte) return packet(3, greeting);
  agent.write(packet(1, loginForAgent(login, greetedCapabilities(greeting))));
  for (let sequence = 2; sequence < 2 + maxAnswers; sequence += 1) {
    const answer = await take(sequence);
    if (answer[0] === errorByte) return packet(sequence + 1, answer);
    tls.write(packet(sequence + 1, answer));
    // 01: the OK follows.
    if (answer[0] !== 1) return undefined;
  }
  throw new PlatformError("unavailable", "the agent did not answer the login");
}
