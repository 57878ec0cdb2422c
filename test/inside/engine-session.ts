import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from "node:tls";
import type { Database } from "../../agent/db/database.ts";
import type { DatabaseEvent, DatabaseNames, EngineSession, LoginFacts, ServerAccess, StatementLog } from "../../agent/db/engine.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { socketPair } from "./socket-pair.ts";

export interface EngineSessionOptions {
  readonly protocol: Database["protocol"];
  /** Port of the server on 127.0.0.1. */
  readonly port?: number;
  /** Of `secure`; undefined: it hands back the plain connection. */
  readonly tls?: ConnectionOptions;
  /** Of the server's certificate, without TLS. */
  readonly refusal?: PlatformError;
  readonly asked?: DatabaseNames;
  readonly user?: string;
  /** Refuses a login by throwing. */
  readonly judge?: (names: DatabaseNames) => void;
  readonly record?: EngineSession["record"];
  readonly isStrict?: boolean;
  readonly mayUse?: EngineSession["mayUse"];
  /** Default: statements are not recorded. */
  readonly statements?: StatementLog;
}

/** A session for an engine, without a platform around it: a socket pair, and a login that records what it was asked. */
export interface InsideEngineSession {
  readonly session: EngineSession;
  /** The client's end. */
  readonly near: Socket;
  readonly events: DatabaseEvent[];
  readonly logins: { readonly names: DatabaseNames; readonly userAgent?: string | undefined; readonly replication?: LoginFacts["replication"] }[];
  readonly bytes: { received: number; transmitted: number };
  /** Processes of PostgreSQL servers. */
  readonly pids: number[];
  /** Connections to servers, the agent's end, in order. */
  readonly dialled: Socket[];
  /** Ends the session with this reason. */
  readonly end: (why: unknown) => void;
}

export async function engineSession(options: EngineSessionOptions): Promise<InsideEngineSession> {
  const [near, client] = await socketPair();
  return { near, ...sessionAround(client, options) };
}

/** The same around a socket that a test has accepted. */
export function sessionAround(client: Socket, options: EngineSessionOptions): Omit<InsideEngineSession, "near"> {
  const { protocol, port = 1, asked = {}, user = "alice" } = options;
  const events: DatabaseEvent[] = [];
  const logins: InsideEngineSession["logins"] = [];
  const bytes = { received: 0, transmitted: 0 };
  const pids: number[] = [];
  const dialled: Socket[] = [];
  const over = new AbortController();
  const session: EngineSession = {
    client,
    database: {
      name: "orders",
      protocol,
      uri: `127.0.0.1:${port}`,
      addresses: [{ host: "127.0.0.1", port }],
      options: new Map(),
      labels: {},
      origin: "static",
      tls: { mode: "verify-full", caPem: [], trustsSystem: false },
    },
    asked,
    user,
    sid: "5d7b1b3e-0000-4000-8000-000000000001",
    signal: over.signal,
    log: silentLog,
    login: async (names, { userAgent, replication } = {}) => {
      logins.push({ names, userAgent, ...(replication && { replication }) });
      options.judge?.(names);
      const access = serverAccess(names.user ?? "", port, options);
      const dial: ServerAccess["dial"] = async (address) => {
        const socket = await access.dial(address);
        dialled.push(socket);
        return socket;
      };
      return { ...access, dial };
    },
    record: options.record ?? ((event) => void events.push(event)),
    isStrict: options.isStrict ?? false,
    ...(options.mayUse && { mayUse: options.mayUse }),
    ...(options.statements && { statements: options.statements }),
    touch: () => {},
    count: ({ received = 0, transmitted = 0 }) => {
      bytes.received += received;
      bytes.transmitted += transmitted;
    },
    servedBy: (pid) => void pids.push(pid),
  };
  return { session, events, logins, bytes, pids, dialled, end: (why) => over.abort(why) };
}

function serverAccess(user: string, port: number, { tls, refusal }: Pick<EngineSessionOptions, "tls" | "refusal">): ServerAccess {
  return {
    user,
    dial: async (address = { host: "127.0.0.1", port }) => {
      const socket = connect(address.port, address.host).setNoDelay(true);
      try {
        await once(socket, "connect");
      } catch (cause) {
        throw new PlatformError("unavailable", `could not reach the server: ${errorText(cause)}`, { cause });
      }
      return socket.pause();
    },
    secure: async (socket, { alpn = [], leave } = {}) => {
      if (refusal !== undefined) {
        await leave?.(socket as TLSSocket);
        throw refusal;
      }
      // The engine sees the same methods; TLS itself is not what such a test is about.
      if (tls === undefined) return socket as TLSSocket;
      const secured = tlsConnect({ ...tls, socket, ALPNProtocols: [...alpn] });
      await once(secured, "secureConnect");
      return secured;
    },
  };
}
