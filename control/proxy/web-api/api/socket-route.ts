import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import { ipOf } from "../../../../core/transport/host-port.ts";
import { foreignPage } from "../../foreign-page.ts";
import type { Api, TakeUpgrade } from "./api.ts";
import { apiRoute } from "./api-route.ts";
import { type BrowserUser, requireOwnPage, requireSession } from "./authenticate.ts";
import type { ApiPath } from "./declared-route.ts";
import type { OpenSockets } from "./open-sockets.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";
import { SocketInbox } from "./socket-inbox.ts";
import { closeWith, keepAlive, requireToken } from "./socket-life.ts";

/** A WebSocket of a logged-in user, whose token has come. */
export interface SocketCall {
  readonly socket: WebSocket;
  /** Messages of the browser, after the token. */
  readonly inbox: SocketInbox;
  readonly browser: BrowserUser;
  /** The auth service's API in the name of this user. */
  readonly auth: AuthClient;
  /** `ip:port` of the browser. */
  readonly peer: string;
  /** Aborted with the reason when the browser goes away, its session ends, or the proxy stops. */
  readonly signal: AbortSignal;
}

export interface SocketRoute {
  readonly path: ApiPath;
  readonly summary: string;
  /** A rejection is sent to the browser; then, or when it resolves, the WebSocket is closed. */
  readonly handler: (call: SocketCall) => Promise<void>;
}

export interface SocketServices {
  readonly openSockets: OpenSockets;
  /** `ip:port` of a connection's other end. */
  readonly peerOf: (request: IncomingMessage) => string;
  readonly signal: AbortSignal;
  /** Called with an error that is a bug. */
  readonly report: (error: PlatformError) => void;
}

/** Maximum size of a message, bytes. */
const maxMessage = 65_536;

/**
 * Declares a WebSocket of the web API, as `apiRoute` declares a route. Before the upgrade the request needs the cookie of a session (else 401) and the Origin of
 * this site (else 403); within 4 s after it the first message must be `{"token": …}`, the token of that very session: else an error of code `denied` is sent,
 * and the WebSocket closed. A request that is not an upgrade gets 400.
 */
export function socketRoute(api: Api, route: SocketRoute, services: SocketServices): void {
  const { path, summary } = route;
  const refusePlain = (): never => {
    throw new PlatformError("invalid", "this address is for WebSockets");
  };
  apiRoute(api, { method: "GET", path, summary, socket: true, schema: {}, handler: refusePlain });
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: maxMessage, perMessageDeflate: false });
  const take: TakeUpgrade = (request, connection, head) => {
    connection.on("error", () => connection.destroy());
    const peer = services.peerOf(request);
    admit(request, { api, peer }).then(
      (browser) => {
        const admitted = { browser, peer, auth: api.sessions.clientOf(browser, ipOf(peer)) };
        upgrade({ request, connection, head, server }, (socket, signal) => serve({ ...admitted, socket, signal }, route, services), {
          ...services,
          browser,
        });
      },
      (thrown: unknown) => refuseUpgrade(connection, toPlatformError(thrown)),
    );
  };
  api.sockets.set(path, take);
}

/** Throws `denied` for a page of another site, which is recorded, and `unauthenticated` without a session. */
async function admit(request: IncomingMessage, { api, peer }: { readonly api: Api; readonly peer: string }): Promise<BrowserUser> {
  requireOwnPage(request, () => api.audit.emitRefusal(foreignPage(request, { client: peer })));
  // Every browser sends it with a WebSocket.
  const { user } = await requireSession(request, api.sessions, ipOf(peer));
  if (request.headers.origin === undefined) throw new PlatformError("denied", "access denied: the API answers only pages of this site");
  return user;
}

interface Arrived {
  readonly request: IncomingMessage;
  readonly connection: Duplex;
  readonly head: Buffer;
  readonly server: WebSocketServer;
}

type Serve = (socket: WebSocket, signal: AbortSignal) => Promise<void>;

/** From here on the WebSocket is one of its session, until its connection closes. */
function upgrade(
  { request, connection, head, server }: Arrived,
  serveSocket: Serve,
  { openSockets, browser, signal: stopped }: SocketServices & { readonly browser: BrowserUser },
): void {
  const ended = new AbortController();
  const end = (why: PlatformError): void => ended.abort(why);
  const stop = (): void => end(new PlatformError("unavailable", "the proxy stops", { hint: "try again in a moment" }));
  let release = (): void => {};
  try {
    release = openSockets.add(browser, end);
  } catch (thrown) {
    refuseUpgrade(connection, toPlatformError(thrown));
    return;
  }
  stopped.addEventListener("abort", stop, { once: true });
  connection.once("close", () => {
    stopped.removeEventListener("abort", stop);
    release();
    end(new PlatformError("unavailable", "the browser has gone"));
  });
  if (stopped.aborted) connection.destroy();
  if (connection.destroyed) return;
  server.handleUpgrade(request, connection, head, (socket) => void serveSocket(socket, ended.signal));
}

/** Never rejects. */
async function serve(call: Omit<SocketCall, "inbox">, { handler }: SocketRoute, { report }: SocketServices): Promise<void> {
  const { socket, browser, signal } = call;
  socket.on("error", () => socket.terminate());
  const inbox = new SocketInbox(socket);
  const alive = keepAlive(socket);
  try {
    await requireToken(inbox, browser.credential, signal);
    await handler({ ...call, inbox });
    inbox.forget();
    closeWith(socket, undefined);
  } catch (thrown) {
    const error = toPlatformError(signal.aborted ? signal.reason : thrown);
    if (error.code === "internal") report(error);
    inbox.forget();
    closeWith(socket, error);
  } finally {
    alive.stop();
  }
}
