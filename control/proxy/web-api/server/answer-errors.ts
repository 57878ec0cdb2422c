import type { FastifyInstance } from "fastify";
import { type ErrorCode, PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import type { Log } from "../../../../core/log/log.ts";

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

/** The shape of every error of the web API. */
export function errorBody(error: PlatformError): { error: { message: string; code: string; hint?: string } } {
  return { error: { message: error.message, code: error.code, ...(error.hint !== undefined && { hint: error.hint }) } };
}

/** The web API's status for each error code. */
export const httpStatus: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  mfa_required: 403,
  not_found: 404,
  already_exists: 409,
  conflict: 412,
  limit: 429,
  unavailable: 503,
  timeout: 504,
  unsupported: 501,
  internal: 500,
};

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
