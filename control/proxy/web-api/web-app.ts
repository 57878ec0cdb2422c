import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance, FastifyReply } from "fastify";
import Fastify from "fastify";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { exportAuthority } from "./authority-export.ts";
import { errorBody } from "./error-body.ts";
import { homePage } from "./home-page.ts";
import { httpStatus } from "./http-status.ts";
import { inviteRoutes } from "./invite-routes.ts";
import { packageRoutes } from "./package-routes.ts";
import { pageHeaders } from "./page.ts";
import { findAnswer, type PingFacts, pingAnswer, publicAddress } from "./ping.ts";
import { upgradeRoutes } from "./upgrade-routes.ts";
import { createWebServer, type WebServer } from "./web-server.ts";
import type { WebServices } from "./web-services.ts";

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
  inviteRoutes(app, services);
  upgradeRoutes(app, services.versionServer);
  packageRoutes(app, services);
  scriptRoutes(app, services);
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

/** `GET /webapi/auth/export?type=…`: the public halves of the authorities, public. */
function authorityRoutes(app: FastifyInstance, { access, clusterName }: WebServices): void {
  for (const prefix of ["", "/v1"]) {
    app.get<{ Querystring: { type?: string } }>(`${prefix}/webapi/auth/export`, async (request, reply) => {
      const { type } = request.query;
      const text = exportAuthority(typeof type === "string" ? type : "", { clusterName, ...(await access.current()) });
      return await reply.type("text/plain; charset=utf-8").send(text);
    });
  }
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

/** The text of scripts/install.sh from the repository; the build embeds it in the executable. */
function installScript(): string {
  return readFileSync(join(import.meta.dirname, "../../../scripts/install.sh"), "utf8");
}

/** The line of the install script for the address of the proxy that serves it. */
const emptyLine = /^PLATFORM_PROXY=''$/m;

/** The install script with the proxy's public address filled in, quoted for the shell. Throws Error when it has no such line. */
export function fillScript(script: string, proxy: string): string {
  if (!emptyLine.test(script)) throw new Error("scripts/install.sh has no line PLATFORM_PROXY=''");
  return script.replace(emptyLine, () => `PLATFORM_PROXY='${proxy.replaceAll("'", "'\\''")}'`);
}

/** Answers for failed requests, and for unknown paths. */
export function addErrors(app: FastifyInstance, log: Log): void {
  const known = new KnownPaths(app);
  app.setNotFoundHandler(async (request, reply) => {
    const methods = known.methods(request.raw.url ?? "");
    if (methods.length === 0) return await reply.code(404).send(errorBody(new PlatformError("not_found", "not found")));
    const allowed = methods.join(", ");
    const error = new PlatformError("invalid", `this path does not support ${request.method}`, { hint: `it supports ${allowed}` });
    return await reply.code(405).header("Allow", allowed).send(errorBody(error));
  });
  app.setErrorHandler(async (thrown, _request, reply) => {
    const error = fromFastify(thrown);
    if (error.code === "internal") log.error("web request failed", { error: thrown });
    await reply.code(httpStatus[error.code]).send(errorBody(error));
  });
}

/** Fastify's own refusals (body too long, not JSON …) carry a status; any other error that is not ours is a bug. */
function fromFastify(thrown: unknown): PlatformError {
  const status = thrown instanceof Error && "statusCode" in thrown ? Number(thrown.statusCode) : 500;
  if (thrown instanceof PlatformError || !(thrown instanceof Error) || status >= 500) return toPlatformError(thrown);
  return new PlatformError(status === 413 ? "limit" : "invalid", `could not read the request: ${thrown.message}`);
}

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: ReadonlySet<string>;
}

/** The paths of all routes that are added from now on, to distinguish a wrong method from a wrong path. */
class KnownPaths {
  readonly #paths: KnownPath[] = [];

  constructor(app: FastifyInstance) {
    app.addHook("onRoute", ({ url, method }) => {
      const methods = Array.isArray(method) ? method : [method];
      this.#paths.push({ pattern: patternOf(url), methods: new Set(methods) });
    });
  }

  /** Methods of the path, in order; empty: unknown path. `url` may have a query. */
  methods(url: string): readonly string[] {
    const [path = ""] = url.split("?", 1);
    return [...new Set(this.#paths.flatMap(({ pattern, methods }) => (pattern.test(path) ? [...methods] : [])))].sort();
  }
}

/** `:name` is one segment, `*` at the end the rest. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:[A-Za-z]+|\*$)/).map((part) => {
    if (part === "*") return ".*";
    return /^:[A-Za-z]+$/.test(part) ? "[^/]+" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
