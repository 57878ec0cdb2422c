import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
} from "node:http2";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type SecureContext, TLSSocket, type TLSSocketOptions } from "node:tls";
import { createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { leaveHandshake } from "../../../core/node-internals/leave-handshake.ts";
import { makeTls } from "../../../core/node-internals/make-tls.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { hostContext } from "../../../core/transport/arrivals/server-tls.ts";
import type { AuthContext } from "../auth-context.ts";
import { authRoutes, maxRequest } from "./auth-routes.ts";
import { type Caller, identifyPeer } from "./caller.ts";
import { takeRelayed } from "./client-arrivals.ts";
import { ConnectionBounds, type KeptSession, keepSession } from "./connection-bounds.ts";
import type { Api } from "./guard.ts";

/** Time limit of the TLS handshake, ms. */
const handshakeMs = 10_000;
/** Time for open calls to finish at the end, ms. */
const drainMs = 3_000;
/** Time without a call after which a client of a retired server has made its last one, ms. */
const restMs = 500;
/** Time for the last bytes of closed connections, ms. */
const flushMs = 250;

export interface AuthServerDeps extends Omit<Api, "callerOf"> {
  /** Leaf and authority, PEM, and the key: requested for every connection, with its SNI, so that a renewed one is used at once. */
  readonly identity: (servername?: string) => { readonly certificate: string; readonly privateKey: string };
  /** Aborted when the service stops; it ends streams. */
  readonly shutdown: AbortSignal;
}

export interface AuthServer {
  /** Accepts a byte stream on which a client will speak TLS. */
  accept(stream: Duplex, remoteAddress: string): void;
  /**
   * Another process has taken over: lets open calls finish, then closes the rest. A connection that was on its way here makes its first call, and is closed
   * after it.
   */
  retire(): Promise<void>;
  /** Refuses new connections, lets open calls finish, then closes the rest. */
  close(): Promise<void>;
}

type Peer = Caller | PlatformError;

/** gRPC over HTTP/2 over TLS 1.3 on any byte stream. A client certificate is requested and checked here, but not required. */
export function createAuthServer(deps: AuthServerDeps): AuthServer {
  const { context } = deps;
  const open = new Set<Duplex>();
  const sessions = new Map<Http2Session, KeptSession & { readonly peer: Peer }>();
  const http2 = http2Server(deps, sessions);
  const contexts = secureContexts(deps.identity);
  const bounds = new ConnectionBounds();
  let arriving: { peer: Peer; tls: TLSSocket } | undefined;
  let [retired, closing] = [false, false];
  http2.on("session", (session: ServerHttp2Session) => {
    if (arriving === undefined) return session.destroy();
    const { peer, tls } = arriving;
    const kept = keepSession(session, () => tls.destroy());
    sessions.set(session, { peer, ...kept });
    session.once("close", () => sessions.delete(session));
    if (retired) void endSoon(session, kept);
  });
  const accept = (stream: Duplex, remoteAddress: string): void => {
    stream.on("error", () => {});
    if (closing) {
      stream.destroy();
      return;
    }
    open.add(stream);
    stream.once("close", () => open.delete(stream));
    bounds.arrive(stream, remoteAddress);
    handshake(stream, contexts, (tls) => {
      const peer = peerOf(tls, { context, remoteAddress });
      if (!bounds.settle(stream, peer, remoteAddress)) {
        context.log.debug("connection refused: its owner has too many", { peer: remoteAddress });
        stream.destroy();
        return;
      }
      if (tls.alpnProtocol === alpn.authRelay) return void takeRelayed(tls, peer, { context, remoteAddress, accept });
      arriving = { peer, tls };
      // Creates the session, and emits it as "session", before it returns.
      http2.emit("connection", tls);
      arriving = undefined;
    });
  };
  const retire = async (): Promise<void> => {
    retired = true;
    await Promise.all([...sessions].map(async ([session, kept]) => await endSoon(session, kept)));
  };
  const close = async (): Promise<void> => {
    closing = true;
    const quiet = [...sessions.values()].map((session) => session.quiet());
    for (const session of sessions.keys()) session.close();
    await within(drainMs, Promise.all(quiet));
    const closed = [...open].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
    for (const session of sessions.keys()) session.destroy();
    await within(flushMs, Promise.all(closed));
    for (const stream of open) stream.destroy();
  };
  return { accept, retire, close };
}

/** Ends a connection after its calls; one without any yet after its first. A client makes several, and GOAWAY would cross the next one. */
async function endSoon(session: Http2Session, { used, quiet }: KeptSession): Promise<void> {
  await within(drainMs, used());
  await within(drainMs, atRest(quiet));
  session.close();
  await within(drainMs, quiet());
  session.destroy();
}

async function atRest(quiet: () => Promise<void>): Promise<void> {
  await quiet();
  await sleep(restMs);
}

const peerKey = createContextKey<Peer | undefined>(undefined);

function http2Server(deps: AuthServerDeps, sessions: ReadonlyMap<Http2Session, { readonly peer: Peer }>): ReturnType<typeof createHttp2Server> {
  const callerOf = (handler: HandlerContext): Caller => {
    const peer = handler.values.get(peerKey) ?? new PlatformError("unauthenticated", "the connection is closed");
    if (peer instanceof PlatformError) throw peer;
    return peer;
  };
  const handle = connectNodeAdapter({
    routes: authRoutes({ ...deps, callerOf }),
    contextValues: (request) => {
      const session = "stream" in request ? request.stream.session : undefined;
      return createContextValues().set(peerKey, session === undefined ? undefined : sessions.get(session)?.peer);
    },
    readMaxBytes: maxRequest,
    shutdownSignal: deps.shutdown,
    connect: false,
    grpcWeb: false,
  });
  const server = createHttp2Server({
    settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: 16_384, enablePush: false },
    maxHeaderListPairs: 64,
    maxSessionInvalidFrames: 100,
    maxSessionMemory: 16,
  });
  const take = ifAnswerable(handle);
  for (const event of ["request", "checkContinue", "checkExpectation", "connect"]) server.on(event, take);
  server.on("sessionError", (error) => deps.context.log.debug("an API connection broke", { error: errorText(error) }));
  server.on("error", (error) => deps.context.log.warn("API server", { error: errorText(error) }));
  return server;
}

type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/**
 * Node reports streams that their client has reset by then, and throws for answers to them, as Connect does for an authority that is not one: nobody would catch
 * it. Passes on all other requests.
 */
function ifAnswerable(handle: Http2Handler): Http2Handler {
  return (request, response) => {
    const { destroyed, closed } = request.stream;
    if (destroyed || closed) return;
    if (!URL.canParse(`https://${request.authority}`)) return void response.writeHead(400).end();
    if (request.headers.expect === "100-continue") response.writeContinue();
    handle(request, response);
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

type Contexts = (servername?: string) => SecureContext;

/** Certificates at a time: one, or two during a rotation; old ones are dropped. */
const maxContexts = 2;

/** One context per identity, as long as it is unchanged. */
function secureContexts(identity: AuthServerDeps["identity"]): Contexts {
  const made = new Map<string, SecureContext>();
  return (servername) => {
    const { certificate, privateKey } = identity(servername);
    const known = made.get(certificate);
    if (known !== undefined) return known;
    for (const old of [...made.keys()].slice(0, made.size + 1 - maxContexts)) made.delete(old);
    const context = hostContext({ tlsCertificate: certificate, tlsPrivateKey: privateKey });
    made.set(certificate, context);
    return context;
  };
}

function handshake(stream: Duplex, contexts: Contexts, done: (tls: TLSSocket) => void): void {
  // The types name net.Socket; any Duplex works (Node wraps it).
  const options: TLSSocketOptions = {
    isServer: true,
    secureContext: contexts(),
    SNICallback: (servername, use) => use(null, contexts(servername)),
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ["h2", alpn.authRelay],
  };
  const tls = makeTls(stream, () => new TLSSocket(stream as ConstructorParameters<typeof TLSSocket>[0], options));
  const stop = (): void => {
    clearTimeout(timer);
    tls.destroy();
    stream.destroy();
  };
  const timer = setTimeout(stop, handshakeMs);
  tls.on("error", stop);
  tls.once("close", stop);
  tls.once("end", stop);
  tls.once("secure", () => {
    clearTimeout(timer);
    tls.off("end", stop);
    leaveHandshake(tls);
    // A client of HTTP/2 that has ended its half asks for nothing more; without this the connection would stay until it counts as idle.
    if (tls.alpnProtocol === "h2") tls.allowHalfOpen = false;
    if (tls.alpnProtocol === "h2" || tls.alpnProtocol === alpn.authRelay) done(tls);
    else stop();
  });
}

/**
 * The peer, or the refusal for each of its calls: a message, where a failed handshake would carry none.
 * A refused certificate is audited once per connection.
 */
function peerOf(tls: TLSSocket, facts: { context: AuthContext; remoteAddress: string }): Caller | PlatformError {
  const { context, remoteAddress: address } = facts;
  const certificate = tls.getPeerX509Certificate();
  if (certificate === undefined) return { kind: "anonymous", address };
  const now = context.now();
  try {
    const identity = identifyPeer(certificate, { authorities: context.authorities, clusterName: context.clusterName, now });
    return identity.kind === "host" ? { kind: "host", identity, address } : { kind: "user", identity, address };
  } catch (thrown) {
    const error =
      thrown instanceof PlatformError ? thrown : new PlatformError("unauthenticated", "could not read the client certificate", { cause: thrown });
    context.audit.emitRefusal({ event: "cert.refused", error: error.message, "addr.remote": address });
    return error;
  }
}
