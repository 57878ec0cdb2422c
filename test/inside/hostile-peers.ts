import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect } from "vitest";
import type { Engine } from "../../agent/db/engine.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "./engine-session.ts";
import { type Cut, pour, type ScriptedPart, type ScriptedServer, scriptedServer } from "./scripted-server.ts";

export interface HostileOptions extends Omit<EngineSessionOptions, "port"> {
  readonly engine: Engine;
  readonly parts: readonly ScriptedPart[];
  readonly cut?: Cut | undefined;
}

/** A session of an engine, between a server that follows a script and a client of the test. */
export interface HostileSession extends InsideEngineSession {
  readonly server: ScriptedServer;
  /** Why it ended. */
  readonly ended: Promise<PlatformError | undefined>;
}

/** The sessions of a test. */
export class HostilePeers {
  readonly #open: HostileSession[] = [];

  async open({ engine, parts, cut, ...options }: HostileOptions): Promise<HostileSession> {
    const server = await scriptedServer(parts, cut);
    const inside = await engineSession({ ...options, port: server.port });
    const one = { ...inside, server, ended: engine(inside.session) };
    this.#open.push(one);
    return one;
  }

  /** Ends all that are open, and resolves once they have ended. */
  async close(): Promise<void> {
    await Promise.all(
      this.#open.splice(0).map(async ({ near, server, ended }) => {
        near.destroy();
        await server[Symbol.asyncDispose]();
        await ended;
      }),
    );
  }
}

/** The server's end, the agent's connection to it, and the agent's end of the client's. */
export interface Roads {
  readonly upstream: Socket;
  readonly road: Socket;
  readonly client: Duplex;
}

/** Throws Error unless the agent has connected to the server. */
export function roadsOf({ server, dialled, session }: HostileSession): Roads {
  const [upstream] = server.sockets;
  const [road] = dialled;
  if (upstream === undefined || road === undefined) throw new Error("the agent has not connected to the server");
  return { upstream, road, client: session.client };
}

/** Bytes without an end, and bytes that an agent may hold for a peer that reads nothing. */
const endless = 100_000_000;
export const maxHeld = 1_000_000;

/** What a server sends without an end stays there while the client does not read. */
export async function expectStaysAtServer(session: HostileSession, piece: Buffer): Promise<void> {
  const { upstream, road, client } = roadsOf(session);
  expect(await pour(upstream, { piece, most: endless, taken: () => session.bytes.transmitted })).toBeLessThan(endless);
  expect(client.writableLength + road.readableLength).toBeLessThan(maxHeld);
  expect(client.destroyed).toBe(false);
}

/** What a client sends without an end stays there while the server does not read or answer. */
export async function expectStaysAtClient(session: HostileSession, piece: Buffer): Promise<void> {
  const { road, client } = roadsOf(session);
  expect(await pour(session.near, { piece, most: endless, taken: () => session.bytes.received })).toBeLessThan(endless);
  expect(road.writableLength + client.readableLength).toBeLessThan(maxHeld);
  expect(client.destroyed).toBe(false);
}

export interface LeavingClient {
  readonly open: () => Promise<HostileSession>;
  /** All that it would send. */
  readonly bytes: Buffer;
  readonly step: number;
}

/** A client may leave after any byte, in either way: the session ends, and never for a reason of ours. */
export async function expectClientMayLeave(peers: HostilePeers, { open, bytes, step }: LeavingClient): Promise<void> {
  for (let at = 0; at <= bytes.length; at += step) {
    const { near, ended } = await open();
    near
      .on("error", () => {})
      .resume()
      .write(bytes.subarray(0, at));
    if (at % 2 === 0) near.end();
    else near.destroy();
    expect((await ended)?.code, `after ${at} bytes`).not.toBe("internal");
    await peers.close();
  }
}
