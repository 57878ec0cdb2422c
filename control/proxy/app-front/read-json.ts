import type { IncomingMessage } from "node:http";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Largest body of a request to the proxy itself at an application's host name, bytes, and the time for it, ms. */
const maxBody = 16_384;
const bodyMs = 10_000;

/** The JSON body of a request. Throws `invalid`, `limit` or `timeout`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new PlatformError("invalid", "the body must be JSON: send it with Content-Type: application/json");
  }
  const text = (await readBytes(request)).toString();
  try {
    return JSON.parse(text);
  } catch {
    throw new PlatformError("invalid", "the body is not JSON");
  }
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const parts: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => reject(new PlatformError("timeout", "the body did not arrive in time")), bodyMs);
  request.on("data", (part: Buffer) => {
    size += part.length;
    if (size > maxBody) reject(new PlatformError("limit", `the body exceeds the maximum of ${maxBody} bytes`));
    else parts.push(part);
  });
  // A request without a body has ended before it is read.
  if (request.readableEnded) resolve(Buffer.alloc(0));
  request.once("end", () => resolve(Buffer.concat(parts)));
  request.once("close", () => reject(new PlatformError("unavailable", "the client has gone")));
  return promise.finally(() => {
    clearTimeout(timer);
    request.removeAllListeners("data").pause();
  });
}
