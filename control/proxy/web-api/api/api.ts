import type { FastifyInstance } from "fastify";
import type { BrowserSessions } from "./authenticate.ts";
import type { DeclaredRoute } from "./declared-route.ts";
import { openApiDocument } from "./open-api.ts";

/** The web API that the routes of `apiRoute` are added to. */
export interface Api {
  readonly app: FastifyInstance;
  readonly sessions: BrowserSessions;
  /** All routes, in the order of their declaration. */
  readonly declared: DeclaredRoute[];
}

/** A new API on this server, with the document that describes all its routes: `GET /webapi/v1/openapi.json`, public. */
export function createApi(app: FastifyInstance, sessions: BrowserSessions, { version }: { readonly version: string }): Api {
  const api: Api = { app, sessions, declared: [] };
  let text: string | undefined;
  app.get("/webapi/v1/openapi.json", { exposeHeadRoute: false }, async (_request, reply) => {
    text ??= JSON.stringify(openApiDocument(api.declared, { version }));
    return await reply.type("application/json; charset=utf-8").send(text);
  });
  return api;
}
