import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";
import Fastify from "fastify";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { peerAddress } from "../../../core/transport/arrivals/listen.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import type { AppSites } from "../app-front/app-sites.ts";
import type { Access } from "../routing/read-access.ts";
import type { RoutingServices } from "../routing/routing-services.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import { addErrors, errorBody } from "./answer-errors.ts";
import { type Api, createApi } from "./api/api.ts";
import { browserSessions } from "./api/browser-sessions.ts";
import { OpenSockets } from "./api/open-sockets.ts";
import type { TakeUpgrade } from "./api/socket-route.ts";
import { authorityRoutes } from "./authority-routes.ts";
import { installScript } from "./install-script.ts";
import { inviteRoutes } from "./invite-routes.ts";
import { jwksRoute } from "./jwks-route.ts";
import { launchPageRoute } from "./launch-page.ts";
import { launchRoutes } from "./launch-routes.ts";
import { packageRoutes } from "./package-routes.ts";
import { homePage, pageHeaders } from "./pages.ts";
import { findAnswer, type PingFacts, pingAnswer, publicAddress } from "./ping.ts";
import { accessRoute } from "./routes/access-route.ts";
import { activityRoutes } from "./routes/activity-routes.ts";
import { documentRoutes } from "./routes/document-routes.ts";
import { enrolRoutes } from "./routes/enrol-routes.ts";
import { fleetRoutes } from "./routes/fleet-routes.ts";
import { personRoute } from "./routes/person-route.ts";
import { placeRoutes } from "./routes/place-routes.ts";
import { recordingRoutes } from "./routes/recording-routes.ts";
import { resourceRoutes } from "./routes/resource-routes.ts";
import { rolePreviewRoute } from "./routes/role-preview-route.ts";
import { windowPreviewRoute } from "./routes/window-preview-route.ts";
import { sessionRoutes } from "./session-routes.ts";
import { terminalPath, terminalRoute } from "./terminal/terminal-route.ts";
import { uiArchive } from "./ui/ui-archive.ts";
import { uiRoutes } from "./ui/ui-routes.ts";
import { upgradeRoutes } from "./upgrade-routes.ts";

/** Dependencies of the web API. */
export interface WebServices {
  readonly auth: AuthClient;
  readonly access: { current(): Promise<Access> };
  readonly log: Log;
  readonly clusterName: string;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
  readonly versionServer: VersionServer;
  /** A folder of package repositories. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
  readonly version: string;
  /** Called once sessions of browsers have ended. */
  readonly sessionsEnded: () => void;
  readonly appSites: Pick<AppSites, "find" | "hostOf">;
  /** For terminals of browsers. */
  readonly routing: RoutingServices;
  readonly relaying: RelayedStreams;
  readonly signal: AbortSignal;
}

export interface WebApp extends Pick<WebServer, "accept" | "requests" | "closeIdle"> {
  close(): Promise<void>;
}

const maxBody = 16_384;

/** The web API and the few pages of this release. Bodies are bounded here, headers and waits by the server. */
export async function createWebApp(services: WebServices): Promise<WebApp> {
  const server = createWebServer();
  const app = Fastify({
    serverFactory: (handler) => server.serve(handler),
    bodyLimit: maxBody,
    logger: false,
    trustProxy: false,
    exposeHeadRoutes: true,
    return503OnClosing: true,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 128 },
    frameworkErrors: (_error, _request, reply) => {
      void (reply as FastifyReply).code(400).send(errorBody(new PlatformError("invalid", "could not decode the path")));
    },
  });
  addSafeHeaders(app);
  addErrors(app, services.log);
  addForms(app);
  pingRoutes(app, services);
  homeRoutes(app, services);
  authorityRoutes(app, services);
  jwksRoute(app, services);
  inviteRoutes(app, services);
  upgradeRoutes(app, services.versionServer);
  packageRoutes(app, services);
  scriptRoutes(app, services);
  launchPageRoute(app);
  uiRoutes(app, { archive: uiArchive });
  const api = createApi(app, browserSessions(services.auth), services);
  const openSockets = new OpenSockets(services);
  const sessionsEnded = (): void => {
    services.sessionsEnded();
    openSockets.checkSoon();
  };
  apiRoutes(api, { ...services, sessionsEnded });
  server.upgrade(socketRoutes(api, services, openSockets));
  await app.ready();
  return {
    accept: (socket) => server.accept(socket),
    get requests() {
      return server.requests;
    },
    closeIdle: () => server.closeIdle(),
    close: async () => {
      server.closeAll();
      await app.close();
    },
  };
}

/** The API for pages: `/webapi/v1/…`. */
function apiRoutes(api: Api, services: WebServices): void {
  sessionRoutes(api, services);
  launchRoutes(api, services);
  personRoute(api, services);
  placeRoutes(api, services);
  activityRoutes(api);
  recordingRoutes(api);
  fleetRoutes(api);
  resourceRoutes(api);
  documentRoutes(api);
  enrolRoutes(api, services);
  accessRoute(api, services);
  rolePreviewRoute(api, services);
  windowPreviewRoute(api, services);
}

/** By path: what takes requests to become WebSockets. */
function socketRoutes(api: Api, { routing, relaying, log, signal }: WebServices, openSockets: OpenSockets): ReadonlyMap<string, TakeUpgrade> {
  const report = (error: PlatformError): void => log.error("a WebSocket failed", { error: error.cause ?? error });
  const sockets = { openSockets, peerOf: ({ socket }: IncomingMessage) => peerAddress(socket), signal, report };
  return new Map([[terminalPath, terminalRoute(api, { ...routing, relaying }, sockets)]]);
}

interface WebServer {
  /** Sets the handler of requests. Returns Node's server, which does not listen itself. */
  serve(handler: RequestListener): Server;
  /** Requests with one of these paths may become WebSockets; any other wish to upgrade is ignored, and answered as a plain request. */
  upgrade(routes: ReadonlyMap<string, TakeUpgrade>): void;
  /** Accepts a connection after its TLS handshake. */
  accept(socket: Socket): void;
  /** Requests without an answer yet. */
  readonly requests: number;
  /** Ends idle connections after an answer. */
  closeIdle(): void;
  closeAll(): void;
}

/** Maximum requests of one connection: a busy client then reconnects, perhaps to another of several proxies. */
const maxRequests = 1000;

/** HTTP/1.1 with bounded headers and waits. */
function createWebServer(): WebServer {
  let upgrades: ReadonlyMap<string, TakeUpgrade> = new Map();
  const upgradeOf = ({ url = "", method, headers: { upgrade = "" } }: IncomingMessage): TakeUpgrade | undefined =>
    method === "GET" && upgrade.toLowerCase() === "websocket" ? upgrades.get(url.split("?", 1)[0] ?? "") : undefined;
  const limits = { maxHeaderSize: 16_384, requestTimeout: 20_000, headersTimeout: 10_000, keepAliveTimeout: 30_000 };
  const server = createServer({ ...limits, shouldUpgradeCallback: (request) => upgradeOf(request) !== undefined });
  server.on("upgrade", (request, socket, head) => upgradeOf(request)?.(request, socket, head));
  server.maxRequestsPerSocket = maxRequests;
  server.timeout = 60_000;
  // Node checks header and request times only in a server that listens; this one gets its connections from a listener.
  server.emit("listening");
  let requests = 0;
  return {
    serve: (handler) =>
      server.on("request", (request, response) => {
        requests += 1;
        response.once("close", () => {
          requests -= 1;
        });
        handler(request, response);
      }),
    upgrade: (routes) => {
      upgrades = routes;
    },
    accept: (socket) => void server.emit("connection", socket),
    get requests() {
      return requests;
    },
    closeIdle: () => server.closeIdleConnections(),
    closeAll: () => {
      server.closeAllConnections();
      server.emit("close");
    },
  };
}

function addSafeHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers({
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      "Strict-Transport-Security": "max-age=31536000",
    });
  });
}

function addForms(app: FastifyInstance): void {
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string", bodyLimit: maxBody }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(body.toString())));
  });
}

/** `GET /`: a page for people. It shows only facts that ping and the export of authorities show too. */
function homeRoutes(app: FastifyInstance, { auth, clusterName, ping, packagesDir }: WebServices): void {
  app.get("/", async (_request, reply) => {
    const facts = ping();
    // The page works even while the auth service is unreachable.
    const caPins = await auth.getCluster({}, { timeoutMs: 5000 }).then(
      (cluster) => cluster.caPins,
      () => [],
    );
    const proxy = formatHostPort(publicAddress(facts));
    const html = homePage({ clusterName, proxy, caPins, version: facts.version, servesPackages: packagesDir !== undefined });
    return await reply.headers(pageHeaders()).send(html);
  });
}

/** There are no named connectors: `/webapi/ping/<connector>` is a 404. */
function pingRoutes(app: FastifyInstance, { auth, ping, versionServer }: WebServices): void {
  const upgrades = (): boolean => namesVersion(versionServer.channels);
  for (const prefix of ["", "/v1"]) {
    // Ping covers the auth service: it answers only when that does.
    app.get(`${prefix}/webapi/ping`, async () => {
      await auth.getCluster({}, { timeoutMs: 5000 });
      return pingAnswer(ping(), upgrades());
    });
    app.get(`${prefix}/webapi/find`, async () => findAnswer(ping(), upgrades()));
  }
}

/** Whether an updater gets a version; one that is unavailable now does not count. */
function namesVersion(channels: WebServices["versionServer"]["channels"]): boolean {
  try {
    return channels.read("default").version !== "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return false;
    throw thrown;
  }
}

/** `GET /scripts/install.sh`: the install script, with this proxy's address filled in. */
function scriptRoutes(app: FastifyInstance, { ping }: { ping: () => PingFacts }): void {
  app.get("/scripts/install.sh", async (_request, reply) => {
    const script = fillScript(installScript(), formatHostPort(publicAddress(ping())));
    return await reply.type("text/x-shellscript; charset=utf-8").send(script);
  });
}

/** The line of the install script for the address of the proxy that serves it. */
const emptyLine = /^PLATFORM_PROXY=''$/m;

/** The install script with the proxy's public address filled in, quoted for the shell. Throws Error when it has no such line. */
export function fillScript(script: string, proxy: string): string {
  if (!emptyLine.test(script)) throw new Error("scripts/install.sh has no line PLATFORM_PROXY=''");
  return script.replace(emptyLine, () => `PLATFORM_PROXY='${proxy.replaceAll("'", "'\\''")}'`);
}
