import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { z } from "zod";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { canonicalIp } from "../../../../core/transport/canonical-ip.ts";
import { foreignPage } from "../../foreign-page.ts";
import type { Api } from "./api.ts";
import { type BrowserUser, requireBearer, requireOwnPage, requireSession } from "./authenticate.ts";
import type { ApiPath, ApiSchema } from "./declared-route.ts";

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined;
type Answered<S extends ApiSchema> = S["answer"] extends z.ZodType ? z.input<S["answer"]> : FastifyReply | undefined;

interface Call<S extends ApiSchema> {
  readonly params: Parsed<S["params"]>;
  readonly query: Parsed<S["query"]>;
  readonly body: Parsed<S["body"]>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Address of the browser. */
  readonly address: string;
  /** Aborted when the browser goes away. */
  readonly signal: AbortSignal;
}

/** A call of a logged-in user. */
export interface UserCall<S extends ApiSchema> extends Call<S> {
  readonly browser: BrowserUser;
  /** The auth service's API in the name of this user: it allows, refuses and audits every call as if `tctl` had made it. */
  readonly auth: AuthClient;
}

/** A call of somebody unknown. */
export type PublicCall<S extends ApiSchema> = Call<S>;

interface RouteFacts<S extends ApiSchema> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: ApiPath;
  /** A line for the document: what it does, in the third person ("Lists …"). */
  readonly summary: string;
  readonly schema: S;
  /** Maximum size of the body, bytes; default 16 KiB. */
  readonly bodyLimit?: number;
  /** Media type of an answer that is not JSON, for the document; the handler sends it. */
  readonly media?: string;
  /** Declared by `socketRoute`: here are only the requests that do not become WebSockets. */
  readonly socket?: boolean;
}

export interface UserRoute<S extends ApiSchema> extends RouteFacts<S> {
  readonly public?: false;
  /**
   * `session`: the cookie alone is enough, for a page of this site that has no token yet. Such a route must change nothing but the session itself.
   */
  readonly authentication?: "session and bearer" | "session";
  readonly handler: (call: UserCall<S>) => Promise<Answered<S>> | Answered<S>;
}

export interface PublicRoute<S extends ApiSchema> extends RouteFacts<S> {
  /** Open to everybody who reaches the proxy. */
  readonly public: true;
  readonly handler: (call: PublicCall<S>) => Promise<Answered<S>> | Answered<S>;
}

/**
 * Declares a route of the web API, `/webapi/v1/…`; every one of them is declared here, and a test finds those that are not.
 *
 * A route needs a logged-in browser unless it declares `public: true`: the cookie of a session that the auth service knows (else 401), and the token of that
 * session in `Authorization: Bearer` (else 403), from a page of this site (else 403). All of that is checked before the body is read. Parameters, query and body are
 * read by their schemas (else 400); fields that a schema does not have are refused by `z.strictObject` and dropped by `z.object`. The handler returns the
 * answer; PlatformError becomes `{error: {message, code, hint}}` with the status of its code. The declaration is all that the OpenAPI document at
 * `/webapi/v1/openapi.json` is made from.
 *
 *     apiRoute(api, {
 *       method: "GET",
 *       path: "/webapi/v1/locks/:name",
 *       summary: "Shows a lock.",
 *       schema: { params: z.object({ name: nameText }), answer: lockSchema },
 *       handler: async ({ params, auth }) => lockOf(await auth.getResource({ kind: "lock", name: params.name })),
 *     });
 *
 * The handler's `auth` acts as the user: it needs no checks of its own. The proxy's own client must not be used in a handler.
 */
export function apiRoute<S extends ApiSchema>(api: Api, route: UserRoute<S> | PublicRoute<S>): void {
  const { method, path, schema, bodyLimit } = route;
  api.declared.push({ ...route, authentication: route.public === true ? "none" : (route.authentication ?? "session and bearer") });
  api.app.route({
    method,
    url: path,
    exposeHeadRoute: false,
    ...(bodyLimit !== undefined && { bodyLimit }),
    onRequest: gate(api, route),
    handler: async (request, reply) => {
      const call = { ...read(schema, request), request, reply, address: addressOf(request), signal: signalOf(reply) };
      const answer = await (route.public === true ? route.handler(call) : route.handler({ ...call, ...userOf(api, request) }));
      if (reply.sent || answer === reply) return reply;
      return schema.answer === undefined ? await reply.code(204).send() : await reply.send(answer);
    },
  });
}

/** Users of requests that are admitted. */
const admitted = new WeakMap<FastifyRequest, BrowserUser>();

function gate<S extends ApiSchema>({ sessions, audit }: Api, route: UserRoute<S> | PublicRoute<S>): onRequestAsyncHookHandler {
  return async (request) => {
    // What only reads is asked for by many pages, and gives them nothing.
    requireOwnPage(request, () => route.method === "GET" || audit.emitRefusal(foreignPage(request, { client: addressOf(request) })));
    if (route.public === true) return;
    const { user, credential } = await requireSession(request, sessions, addressOf(request));
    if (route.authentication !== "session") requireBearer(request, credential);
    admitted.set(request, user);
  };
}

function userOf({ sessions }: Api, request: FastifyRequest): { browser: BrowserUser; auth: AuthClient } {
  const browser = admitted.get(request);
  if (browser === undefined) throw new Error("a request reached its handler without a session");
  return { browser, auth: sessions.clientOf(browser, addressOf(request)) };
}

/** The client's address, as `canonicalIp` writes it. */
function addressOf({ ip }: FastifyRequest): string {
  return canonicalIp(ip);
}

function signalOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) gone.abort(new PlatformError("unavailable", "the browser has gone"));
  });
  return gone.signal;
}

function read<S extends ApiSchema>(schema: S, request: FastifyRequest): Pick<Call<S>, "params" | "query" | "body"> {
  if (schema.body !== undefined && !/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new PlatformError("invalid", "the body must be JSON: send it with Content-Type: application/json");
  }
  return {
    params: parse(schema.params, request.params, "the path"),
    query: parse(schema.query, request.query, "the query"),
    body: parse(schema.body, request.body, "the body"),
  } as Pick<Call<S>, "params" | "query" | "body">;
}

function parse(schema: z.ZodType | undefined, value: unknown, place: string): unknown {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue === undefined || issue.path.length === 0 ? place : `${place}: ${issue.path.join(".").slice(0, 128)}`;
  throw new PlatformError("invalid", `could not read ${field}: ${issue?.message ?? "it is malformed"}`);
}
