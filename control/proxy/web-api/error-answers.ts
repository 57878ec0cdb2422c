import type { FastifyInstance } from "fastify";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { errorBody } from "./error-body.ts";
import { httpStatus } from "./http-status.ts";

/** What a client is told when a request fails, or is for nothing that there is. */
export function addErrors(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler(async (_request, reply) => {
    await reply.code(404).send({ error: { message: "there is nothing at this path" } });
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
