import type { FastifyInstance } from "fastify";
import type { AuditQueue } from "../../routing/audit-queue.ts";
import type { BrowserSessions } from "./authenticate.ts";
import type { DeclaredRoute } from "./declared-route.ts";
import { openApiDocument } from "./open-api.ts";

/** The web API that the routes of `apiRoute` are added to. */
export interface Api {
  readonly app: FastifyInstance;
  readonly sessions: BrowserSessions;
  /** For requests of pages of other sites. */
  readonly audit: Pick<AuditQueue, "emitRefusal">;
  /** All routes, in the order of their declaration. */
  readonly declared: DeclaredRoute[];
}

/** A new API on this server, with the document that describes all its routes: `GET /webapi/v1/openapi.json`, public. */
export function createApi(
  app: FastifyInstance,
  sessions: BrowserSessions,
  { version, audit }: { readonly version: string } & Pick<Api, "audit">,
): Api {
  const api: Api = { app, sessions, audit, declared: [] };
  app.addHook("onRoute", ({ method, url }) => requireDeclared(api, { method, url }));
  let text: string | undefined;
  app.get(documentPath, { exposeHeadRoute: false }, async (_request, reply) => {
    text ??= JSON.stringify(openApiDocument(api.declared, { version }));
    return await reply.type("application/json; charset=utf-8").send(text);
  });
  return api;
}

const documentPath = "/webapi/v1/openapi.json";

/** Throws Error for a route of the API that was not declared by `apiRoute`, and so would lack its checks: the proxy does not start with one. */
function requireDeclared({ declared }: Api, { method, url }: { readonly method: string | readonly string[]; readonly url: string }): void {
  if (!url.toLowerCase().startsWith("/webapi/v1/") || url === documentPath) return;
  const isDeclared = [method].flat().every((one) => declared.some((route) => route.method === one && route.path === url));
  if (!isDeclared) throw new Error(`the route ${String(method)} ${url} was not added by apiRoute`);
}
