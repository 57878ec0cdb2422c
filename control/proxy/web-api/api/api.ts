import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { AuditQueue } from "../../routing/audit-queue.ts";
import type { BrowserSessions } from "./authenticate.ts";
import type { DeclaredRoute } from "./declared-route.ts";
import { openApiDocument } from "./open-api.ts";

/** Serves a request to become a WebSocket. Owns the connection. */
export type TakeUpgrade = (request: IncomingMessage, connection: Duplex, head: Buffer) => void;

/** The web API that the routes of `apiRoute` are added to. */
export interface Api {
  readonly app: FastifyInstance;
  readonly sessions: BrowserSessions;
  /** For requests of pages of other sites. */
  readonly audit: Pick<AuditQueue, "emitRefusal">;
  /** All routes, in the order of their declaration. */
  readonly declared: DeclaredRoute[];
  /** By path: what takes the upgrades of each WebSocket of `socketRoute`. */
  readonly sockets: Map<string, TakeUpgrade>;
}

/** A new API on this server, with the document that describes all its routes: `GET /webapi/v1/openapi.json`, public. */
export function createApi(
  app: FastifyInstance,
  sessions: BrowserSessions,
  { version, audit }: { readonly version: string } & Pick<Api, "audit">,
): Api {
  const api: Api = { app, sessions, audit, declared: [], sockets: new Map() };
  app.addHook("onRoute", ({ method, url }) => requireDeclared(api, { method, url }));
  let text: string | undefined;
  app.get(documentPath, { exposeHeadRoute: false }, async (_request, reply) => {
    text ??= JSON.stringify(openApiDocument(api.declared, { version }));
    return await reply.type("application/json; charset=utf-8").send(text);
  });
  return api;
}

const documentPath = "/webapi/v1/openapi.json";

/** What takes upgrades, by path: those of the API, and `others`. Throws Error for one of the API among the others, which would lack its checks. */
export function upgradesOf({ sockets }: Pick<Api, "sockets">, others: ReadonlyMap<string, TakeUpgrade>): ReadonlyMap<string, TakeUpgrade> {
  const bare = [...others.keys()].find(isOfApi);
  if (bare !== undefined) throw new Error(`the WebSocket ${bare} was not added by socketRoute`);
  return new Map([...others, ...sockets]);
}

function isOfApi(path: string): boolean {
  return path.toLowerCase().startsWith("/webapi/v1/");
}

/** Throws Error for a route of the API that was not declared by `apiRoute`, and so would lack its checks: the proxy does not start with one. */
function requireDeclared({ declared }: Api, { method, url }: { readonly method: string | readonly string[]; readonly url: string }): void {
  if (!isOfApi(url) || url === documentPath) return;
  const isDeclared = [method].flat().every((one) => declared.some((route) => route.method === one && route.path === url));
  if (!isDeclared) throw new Error(`the route ${String(method)} ${url} was not added by apiRoute`);
}
