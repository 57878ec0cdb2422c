import type { FastifyInstance } from "fastify";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { errorBody } from "./error-body.ts";
import { httpStatus } from "./http-status.ts";
import { KnownPaths } from "./known-paths.ts";

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
