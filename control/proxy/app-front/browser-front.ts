import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { isWebSocketUpgrade } from "../../../core/resources/app-headers.ts";
import { GatheredMessage } from "../../../core/transport/gathered-message.ts";
import { limitStuck } from "../../../core/transport/limit-stuck.ts";
import type { KeptConnections } from "../kept-connections.ts";
import { watchPresence } from "../routing/client-presence.ts";
import { relayStream } from "../routing/relay-stream.ts";
import type { RelayedStreams, RunningStreams } from "../routing/running-streams.ts";
import type { ForwardedPeers } from "../web-api/server/forwarded-peers.ts";
import type { AgentConnections, AppVisit } from "./agent-connections.ts";
import { maxHeaders } from "./agent-requests.ts";
import { answerRefusal, refusalText } from "./answer-refusal.ts";
import { appCredential } from "./app-cookies.ts";
import type { BrowserArrival, ServeBrowser } from "./app-front.ts";
import { ownPaths, ownPrefix } from "./app-path.ts";
import type { AppSessions } from "./app-sessions.ts";
import { finishHandOff, type HandOffServices, logOut, type SiteRequest, showHandOff, startHandOff } from "./hand-off.ts";
import { passOn } from "./pass-on.ts";
import { passUpgrade } from "./pass-upgrade.ts";
import { preflightHeaders } from "./preflight.ts";

export interface BrowserFrontServices extends HandOffServices {
  readonly sessions: AppSessions;
  readonly connections: Pick<AgentConnections, "inTurn" | "connect">;
  readonly forwarded: Pick<ForwardedPeers, "of">;
  readonly running: Pick<RunningStreams, "extend">;
  readonly relaying: RelayedStreams;
  readonly kept: Pick<KeptConnections, "addServer">;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Time for the headers of a request, and of an idle connection, ms. Bodies and answers take as long as they take: uploads, event streams. */
const headersMs = 20_000;
const keepAliveMs = 75_000;
/**
 * Time after which a browser is cut off that reads nothing of the data waiting for it, ms. The kernel's buffers hide progress of up to 1.7 MB: a reader of 1 KB/s
 * must not look like one that reads nothing.
 */
const unreadMs = 1_800_000;

/**
 * Browsers at the host names of applications: requests with a session go on to an agent, and browsers without one to the proxy's page that signs them in.
 * An application is served under its own host name alone.
 */
export function createBrowserFront(services: BrowserFrontServices): ServeBrowser {
  const arrivals = new WeakMap<Duplex, Arrived>();
  const times = { requestTimeout: 0, headersTimeout: headersMs, keepAliveTimeout: keepAliveMs };
  // Spares requests without a body the end and the close of a stream.
  const reading = { maxHeaderSize: maxHeaders, IncomingMessage: GatheredMessage, optimizeEmptyRequests: true };
  // The agent accepts no other upgrade.
  const server = createServer({ ...reading, ...times, shouldUpgradeCallback: ({ headers }) => isWebSocketUpgrade(headers.upgrade) });
  // Node checks header times only in a server that listens; this one gets its connections from a listener.
  server.emit("listening");
  services.kept.addServer(server);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const arrival = arrivals.get(request.socket);
    if (arrival === undefined) return void request.socket.destroy();
    const closed = Promise.withResolvers<void>();
    response.once("close", closed.resolve);
    services.relaying.add(closed.promise);
    const { site, left } = arrival;
    serve({ request, response, site, left, peer: services.forwarded.of(request, arrival.peer) }, services).catch((thrown: unknown) =>
      refuse({ request, response, arrival }, thrown, services),
    );
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const arrival = arrivals.get(socket);
    if (arrival === undefined) return void socket.destroy();
    const opened = serveUpgrade({ request, socket, head, arrival }, services).catch((thrown: unknown) => {
      socket.end(refusalText(note(thrown, services)));
    });
    services.relaying.add(opened);
  });
  services.signal.addEventListener(
    "abort",
    () => {
      server.closeAllConnections();
      server.emit("close");
    },
    { once: true },
  );
  return (arrival) => {
    const { socket, peer } = arrival;
    const stuck = (): void => {
      services.log.debug("cut off a browser that does not read", { peer });
      socket.destroy();
    };
    const { left } = watchPresence(socket);
    const unlimited = limitStuck(socket, { stuckMs: unreadMs, stuck });
    socket.once("close", unlimited);
    arrivals.set(socket, { ...arrival, unlimited, left });
    server.emit("connection", socket);
  };
}

async function serve(visit: SiteRequest & Pick<Arrived, "left">, services: BrowserFrontServices): Promise<void> {
  const { request, response, site, left } = visit;
  requireOwnHost(request, site.host);
  const { method = "GET", url = "/" } = request;
  if (url.toLowerCase().startsWith(ownPrefix)) return await serveOwn(visit, services);
  const { origin, "access-control-request-method": wanted } = request.headers;
  const policy = preflightHeaders(site.facts?.cors, { method, origin, wanted });
  if (policy !== undefined) return void response.writeHead(204, policy).end();
  const app = await visitOf(visit, services);
  const failed = (thrown: unknown): void => refuse({ request, response, arrival: visit }, thrown, services);
  await services.connections.inTurn(app, left, async (agent) => await passOn(request, response, { agent, left, failed }));
}

/** Paths of the proxy itself. Throws PlatformError. */
async function serveOwn(visit: SiteRequest, services: BrowserFrontServices): Promise<void> {
  const { method, url = "/" } = visit.request;
  const [path = ""] = url.split("?", 1);
  if (method === "GET" && path === ownPaths.start) return startHandOff(visit, services);
  if (method === "GET" && path === ownPaths.auth) return showHandOff(visit);
  if (method === "POST" && path === ownPaths.auth) return await finishHandOff(visit, services);
  if (method === "POST" && path === ownPaths.logout) return await logOut(visit, services);
  throw new PlatformError("not_found", "not found");
}

/** A browser's connection. It ends when data waits for the browser, and the browser has read nothing for half an hour. */
interface Arrived extends BrowserArrival {
  /** Lifts the limit: after an upgrade the stream may wait for its user, and counts as one of the user's streams. */
  readonly unlimited: () => void;
  /** Aborted when it has closed. */
  readonly left: AbortSignal;
}

interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly arrival: Arrived;
}

async function serveUpgrade({ request, socket, head, arrival }: UpgradeRequest, services: BrowserFrontServices): Promise<void> {
  const { site } = arrival;
  const peer = services.forwarded.of(request, arrival.peer);
  requireOwnHost(request, site.host);
  if ((request.url ?? "").toLowerCase().startsWith(ownPrefix)) throw new PlatformError("not_found", "not found");
  const visit = await visitOf({ request, site, peer }, services);
  // A client that has ended its direction cannot use what it asked for.
  using presence = watchPresence(socket, ["end", "close"]);
  await passUpgrade(
    request,
    { socket, head },
    {
      connect: () => services.connections.connect(visit, presence.left),
      join: (client, agent) => {
        arrival.unlimited();
        const end = (): void => {
          client.destroy();
          agent.destroy();
        };
        const release = services.sessions.hold(visit.credential.id, end);
        void relayStream(client, agent, services).finally(release);
      },
    },
  );
}

/** Throws `unauthenticated` for a browser without a session, `denied` for a locked user. */
async function visitOf(asked: Omit<SiteRequest, "response">, { sessions }: BrowserFrontServices): Promise<AppVisit> {
  const { site } = asked;
  const visit = statedVisit(asked);
  if (visit === undefined) throw new PlatformError("unauthenticated", "this browser is not signed in to the application");
  await sessions.userOf(visit);
  if (site.facts?.scheme === "tcp") {
    throw new PlatformError("not_found", `application ${site.app} is not a web application`, { hint: `use: tsh proxy app ${site.app}` });
  }
  return visit;
}

/** Longest cookies of a connection's latest request that are kept, characters. */
const mostKept = 4_096;

/** The latest visit on each connection, and the cookies that stated it: a browser sends the same ones with each request. */
const latest = new WeakMap<Duplex, { readonly cookie: string; readonly visit: AppVisit }>();

/** The visit that the cookies state, the same object for the same ones; undefined: none. */
function statedVisit({ request, site: { app }, peer }: Omit<SiteRequest, "response">): AppVisit | undefined {
  const { socket, headers } = request;
  const { cookie = "" } = headers;
  const known = latest.get(socket);
  if (known?.cookie === cookie && known.visit.peer === peer && known.visit.app === app) return known.visit;
  const credential = appCredential(cookie);
  if (credential === undefined) return undefined;
  const visit = { credential, app, peer };
  if (cookie.length <= mostKept) latest.set(socket, { cookie, visit });
  return visit;
}

/** Throws `invalid` for a request that names another host than the TLS connection, or more than one. */
function requireOwnHost({ rawHeaders, url = "", headers }: IncomingMessage, host: string): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  const [, named = ""] = /^([^:]*)(?::[0-9]{1,5})?$/.exec(headers.host ?? "") ?? [];
  if (hosts === 1 && named.toLowerCase().replace(/\.$/, "") === host && url.startsWith("/")) return;
  throw new PlatformError("invalid", "the request is for another host than its connection");
}

type Refused = Pick<SiteRequest, "request" | "response"> & { readonly arrival: Pick<SiteRequest, "site"> };

function refuse({ request, response, arrival: { site } }: Refused, thrown: unknown, services: BrowserFrontServices): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const error = note(thrown, services);
  // The rest of the body is not read, and a malformed request ends its connection.
  if (!request.complete || error.code === "invalid") response.shouldKeepAlive = false;
  answerRefusal({ request, response, error, launch: launchAddress(request, site, services) });
}

/** Where a browser without a session goes. */
function launchAddress({ method, url = "/" }: IncomingMessage, { host }: SiteRequest["site"], { addresses }: BrowserFrontServices): string {
  const isRead = method === "GET" || method === "HEAD";
  return addresses().launch(host, { path: isRead && !url.toLowerCase().startsWith(ownPrefix) ? url : "/" });
}

/** Connections to agents that fail are not faults of the proxy. */
function note(thrown: unknown, { log }: BrowserFrontServices): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const isConnection = thrown instanceof Error && "code" in thrown;
  if (isConnection) return new PlatformError("unavailable", "the connection to the application broke", { cause: thrown, hint: "try again" });
  log.error("could not serve a request to an application", { error: thrown });
  return toPlatformError(thrown);
}
