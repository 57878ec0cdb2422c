import { once } from "node:events";
import { chmod, unlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Client } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { CliIo } from "../../io.ts";
import { writeNote } from "../../output.ts";
import type { Endpoint, ForwardSpec } from "./forward-spec.ts";
import { type Forwards, serveLocal, serveSocks } from "./local-forwards.ts";
import { RemoteForwards } from "./remote-forwards.ts";

export interface ForwardAsk {
  readonly local: readonly ForwardSpec[];
  readonly remote: readonly ForwardSpec[];
  readonly dynamic: readonly { readonly host: string; readonly port: number }[];
  /** A forward that fails to start ends the command. */
  readonly isStrict?: boolean;
}

export interface StartedForwards {
  /** Resolves after all attempts; throws only with `isStrict`. */
  readonly tried: Promise<void>;
  /** Ends all forwards, including pending ones. */
  readonly end: () => Promise<void>;
}

/** Starts all requested forwards; a failed one is reported, and the rest continue, as in ssh. */
export function startForwards(client: Client, ask: ForwardAsk, io: CliIo): StartedForwards {
  const closed = new AbortController();
  const forwards: Forwards = { client, io, gone: closed.signal };
  client.once("close", () => closed.abort());
  const servers: Server[] = [];
  const paths: string[] = [];
  const attempt = (work: Promise<void>): Promise<void> =>
    work.catch((thrown: unknown) => {
      if (ask.isStrict === true) throw thrown;
      writeNote(io, `warning: ${errorText(thrown)}`);
    });
  const listen = async (where: Endpoint, serve: (socket: Socket) => void): Promise<void> => {
    servers.push(...(await openListener(where, serve)));
    if ("path" in where) paths.push(where.path);
    if (closed.signal.aborted) await stop();
  };
  const stop = async (): Promise<void> => {
    for (const server of servers.splice(0)) server.close();
    await Promise.all(paths.splice(0).map((path) => unlink(path).catch(() => {})));
  };
  const tryAll = async (): Promise<void> => {
    for (const { listen: where, connect } of ask.local) await attempt(listen(where, (socket) => void serveLocal(forwards, socket, connect)));
    for (const where of ask.dynamic) await attempt(listen(where, (socket) => void serveSocks(forwards, socket)));
    const remote = ask.remote.length > 0 ? new RemoteForwards(forwards) : undefined;
    for (const spec of ask.remote) if (remote !== undefined) await attempt(remote.ask(spec));
  };
  const end = async (): Promise<void> => {
    closed.abort();
    await stop();
  };
  return { tried: tryAll(), end };
}

/** Maximum simultaneous connections of one listener. */
const mostConnections = 512;

/** Listens on the address of `-L` or `-D`: `localhost` is both loopback addresses. Throws `unavailable`. */
async function openListener(endpoint: Endpoint, serve: (socket: Socket) => void): Promise<readonly Server[]> {
  if ("path" in endpoint) return [await listen({ path: endpoint.path }, serve)];
  const { host, port } = endpoint;
  if (host !== "localhost") return [await listen(host === "" ? { port } : { host, port }, serve)];
  const first = await listen({ host: "127.0.0.1", port }, serve);
  // A machine without IPv6 has only one.
  const second = await listen({ host: "::1", port }, serve).catch(() => undefined);
  return second === undefined ? [first] : [first, second];
}

async function listen(where: { host?: string; port?: number; path?: string }, serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, serve);
  server.maxConnections = mostConnections;
  try {
    await once(server.listen(where), "listening");
    // Like ssh's StreamLocalBindMask.
    if (where.path !== undefined) await chmod(where.path, 0o600);
  } catch (cause) {
    server.close();
    throw new PlatformError("unavailable", `could not listen on ${where.path ?? `${where.host ?? "*"} port ${where.port}`}: ${errorText(cause)}`, {
      cause,
    });
  }
  server.on("error", () => {});
  return server;
}
