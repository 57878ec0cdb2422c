import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import Fastify from "fastify";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { type ArrivedSocket, peerAddress } from "../../../core/transport/arrivals/listen.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { upgradePath } from "../../../core/transport/upgrade/websocket-stream.ts";
import type { ListRoom } from "../../limits/list-room.ts";
import type { AppSessions } from "../app-front/app-sessions.ts";
import type { AppSites } from "../app-front/app-sites.ts";
import type { KeptConnections } from "../kept-connections.ts";
import type { Access } from "../routing/read-access.ts";
import type { RoutingServices } from "../routing/routing-services.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import { type Api, createApi, type TakeUpgrade, upgradesOf } from "./api/api.ts";
import { browserSessions } from "./api/browser-sessions.ts";
import { OpenSockets } from "./api/open-sockets.ts";
import { confirmationRoute } from "./confirmation-route.ts";
import { credentialRoutes } from "./credential-routes.ts";
import { authorityRoutes } from "./discovery/authority-routes.ts";
import { jwksRoute } from "./discovery/jwks-route.ts";
import { upgradeRoutes } from "./discovery/upgrade-routes.ts";
import { packageRoutes } from "./downloads/package-routes.ts";
import { scriptRoute } from "./downloads/script-route.ts";
import { kubeRoutes } from "./kube/kube-routes.ts";
import { launchPageRoute } from "./launch-page.ts";
import { launchRoutes } from "./launch-routes.ts";
import { inviteRoutes } from "./pages/invite-routes.ts";
import { homePage, pageHeaders } from "./pages/pages.ts";
import { passkeyRoutes } from "./passkeys/passkey-routes.ts";
import { type PingFacts, publicAddress } from "./ping.ts";
import { pingRoutes } from "./ping-routes.ts";
import { accessRoute } from "./routes/access-route.ts";
import { activityRoutes } from "./routes/activity-routes.ts";
import { documentRoutes } from "./routes/document-routes.ts";
import { documentsReader } from "./routes/documents-reader.ts";
import { enrolRoutes } from "./routes/enrol-routes.ts";
import { fleetRoutes } from "./routes/fleet-routes.ts";
import { personRoute } from "./routes/person-route.ts";
import { placeRoutes } from "./routes/place-routes.ts";
import { recordingRoutes } from "./routes/recording-routes.ts";
import { resourceRoutes } from "./routes/resource-routes.ts";
import { rolePreviewRoute } from "./routes/role-preview-route.ts";
import { userPreviewRoute } from "./routes/user-preview-route.ts";
import { windowPreviewRoutes } from "./routes/window-preview-route.ts";
import { addErrors, errorBody } from "./server/answer-errors.ts";
import { connectionUpgrade, plainUpgradeRoute } from "./server/connection-upgrade.ts";
import type { ForwardedPeers } from "./server/forwarded-peers.ts";
import { safeHeaders } from "./server/safe-headers.ts";
import { createWebServer, type WebServer } from "./server/web-server.ts";
import { sessionRoutes } from "./session-routes.ts";
import { fileRoutes } from "./terminal/file-routes.ts";
import { terminalRoute } from "./terminal/terminal-route.ts";
import { uploadRoute } from "./terminal/upload-route.ts";
import { uiArchive } from "./ui/ui-archive.ts";
import { uiRoutes } from "./ui/ui-routes.ts";

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
  readonly appSessions: Pick<AppSessions, "opened">;
  /** For terminals of browsers. */
  readonly routing: RoutingServices;
  readonly relaying: RelayedStreams;
  /** For lists of files and of objects in clusters. */
  readonly lists: ListRoom;
  /** For files on their way. */
  readonly transfers: ListRoom;
  /** Takes what comes in a connection upgrade. */
  readonly receiveUpgraded: (socket: ArrivedSocket) => void;
  readonly forwarded: Pick<ForwardedPeers, "name">;
  readonly kept: Pick<KeptConnections, "addServer">;
  readonly signal: AbortSignal;
}

export interface WebApp extends Pick<WebServer, "accept" | "requests"> {
  close(): Promise<void>;
}

const maxBody = 16_384;

/** The web API, the Web UI and the few pages beside it. Bodies are bounded here, headers and waits by the server. */
export async function createWebApp(services: WebServices): Promise<WebApp> {
  const server = createWebServer({ kept: services.kept, named: (request) => services.forwarded.name(request) });
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
      // No hook has run.
      void (reply as FastifyReply)
        .headers(safeHeaders)
        .code(400)
        .send(errorBody(new PlatformError("invalid", "could not decode the path")));
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
  scriptRoute(app, services);
  launchPageRoute(app);
  plainUpgradeRoute(app);
  uiRoutes(app, { archive: uiArchive });
  const api = createApi(app, browserSessions(services.auth, services.clusterName), { version: services.version, audit: services.routing.audit });
  const openSockets = new OpenSockets(services);
  const sessionsEnded = (): void => {
    services.sessionsEnded();
    openSockets.checkSoon();
  };
  apiRoutes(api, { ...services, sessionsEnded });
  const { routing, relaying, lists, transfers, signal } = services;
  const bounds = { openSockets, lists };
  fileRoutes(api, { ...routing, ...bounds, transfers, relaying, signal });
  kubeRoutes(api, { ...routing, ...bounds, signal });
  server.upgrade(socketRoutes(api, services, openSockets));
  await app.ready();
  return {
    accept: (socket) => server.accept(socket),
    get requests() {
      return server.requests;
    },
    close: async () => {
      server.closeAll();
      await app.close();
    },
  };
}

/** The API for pages: `/webapi/v1/…`. */
function apiRoutes(api: Api, services: WebServices): void {
  sessionRoutes(api, services);
  credentialRoutes(api, services);
  passkeyRoutes(api, services);
  launchRoutes(api, services);
  confirmationRoute(api, services);
  personRoute(api, services);
  placeRoutes(api, services);
  activityRoutes(api);
  recordingRoutes(api);
  fleetRoutes(api);
  resourceRoutes(api);
  const documents = documentsReader(() => performance.now());
  const previews = { now: services.now, readYaml: documents.toPreview };
  documentRoutes(api, { readYaml: documents.toStore });
  enrolRoutes(api, services);
  accessRoute(api, services);
  rolePreviewRoute(api, previews);
  userPreviewRoute(api, previews);
  windowPreviewRoutes(api, previews);
}

/** The WebSockets of the API, and the connections of agents and clients that begin as one. */
function socketRoutes(
  api: Api,
  { routing, relaying, transfers, receiveUpgraded, log, signal }: WebServices,
  openSockets: OpenSockets,
): ReadonlyMap<string, TakeUpgrade> {
  const report = (error: PlatformError): void => log.error("a WebSocket failed", { error: error.cause ?? error });
  const sockets = { openSockets, peerOf: ({ socket }: IncomingMessage) => peerAddress(socket), signal, report };
  const streams = { ...routing, relaying, transfers, signal };
  terminalRoute(api, streams, sockets);
  uploadRoute(api, streams, sockets);
  return upgradesOf(api, new Map([[upgradePath, connectionUpgrade(receiveUpgraded)]]));
}

function addSafeHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers(safeHeaders);
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
