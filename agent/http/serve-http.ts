import type { TLSSocket } from "node:tls";
import { type ConnectionLimits, type HttpHandlers, usualLimits } from "./http-handlers.ts";
import { serveHttp1 } from "./serve-http1.ts";
import { http2Preface, serveHttp2 } from "./serve-http2.ts";

/** Serves a user's connection: HTTP/2 when it begins with its preface, else HTTP/1.1. Resolves when the connection has ended; never rejects. */
export async function serveHttp(socket: TLSSocket, handlers: HttpHandlers, limits: ConnectionLimits = usualLimits): Promise<void> {
  socket.on("error", () => {});
  try {
    const isHttp2 = await beginsWith(socket, http2Preface, limits.firstMs);
    // A client that is silent, or has left.
    if (isHttp2 === undefined || socket.destroyed) return;
    await (isHttp2 ? serveHttp2(socket, handlers, limits) : serveHttp1(socket, handlers, limits));
  } finally {
    socket.destroy();
  }
}

/** Whether a stream begins with these bytes, which stay in it. Undefined for one that ends before, or is silent for too long. */
async function beginsWith(socket: TLSSocket, expected: Buffer, limitMs: number): Promise<boolean | undefined> {
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  let held: Buffer = Buffer.alloc(0);
  const look = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) held = Buffer.concat([held, chunk]);
    const part = held.subarray(0, expected.length);
    if (!expected.subarray(0, part.length).equals(part)) resolve(false);
    else if (part.length === expected.length) resolve(true);
  };
  const end = (): void => resolve(undefined);
  const timer = setTimeout(end, limitMs);
  socket.on("readable", look).once("end", end).once("close", end);
  try {
    look();
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.off("readable", look).off("end", end).off("close", end);
    if (held.length > 0) socket.unshift(held);
  }
}
