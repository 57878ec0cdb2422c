import type { FastifyInstance } from "fastify";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { errorBody } from "./error-body.ts";
import { httpStatus } from "./http-status.ts";
import { KnownPaths } from "./known-paths.ts";

/** What a client is told when a request fails, or is for nothing that there is. */
export function addErrors(app: FastifyInstance, log: Log): void {
  const known = new KnownPaths(app);
  app.setNotFoundHandler(async (request, reply) => {
    const methods = known.methods(request.raw.url ?? "");
    if (methods.length === 0) return await reply.code(404).send(errorBody(new PlatformError("not_found", "there is nothing at this path")));
    const allowed = methods.join(", ");
    const error = new PlatformError("invalid", `this path does not take ${request.method}`, { hint: `it takes ${allowed}` });
    return await reply.code(405).header("Allow", allowed).send(errorBody(error));
  });
  app.setErrorHandler(async (thrown, _request, reply) => {
    const error = fromFastify(thrown);
    if (error.code === "internal") log.error("a web request failed", { error: thrown });
    await reply.code(httpStatus[error.code]).send(errorBody(error));
  });
}

/** Fastify's own refusals (body too long, not JSON …) carry a status; all else that is not ours is a bug. */
function fromFastify(thrown: unknown): PlatformError {
  const status = thrown instanceof Error && "statusCode" in thrown ? Number(thrown.statusCode) : 500;
  if (thrown instanceof PlatformError || !(thrown instanceof Error) || status >= 500) return toPlatformError(thrown);
  return new PlatformError(status === 413 ? "limit" : "invalid", `the request cannot be read: ${thrown.message}`);
}
