import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { authorityRoutes } from "./authority-routes.ts";
import { addErrors } from "./error-answers.ts";
import { errorBody } from "./error-body.ts";
import { homeRoutes } from "./home-routes.ts";
import { inviteRoutes } from "./invite-routes.ts";
import { packageRoutes } from "./package-routes.ts";
import { pingRoutes } from "./ping-routes.ts";
import { scriptRoutes } from "./script-routes.ts";
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
