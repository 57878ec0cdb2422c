import type { Socket } from "node:net";

/** `int32 length | int32 80877102 | …`: a PostgreSQL client asks on another connection to cancel its query. */
const cancelCode = 80_877_102;
const longestCancel = 272;

/** Whether a connection begins with such a request. Pure. */
export function isCancelRequest(start: Buffer): boolean {
  if (start.length < 16 || start.readInt32BE(4) !== cancelCode) return false;
  const length = start.readInt32BE(0);
  return length >= 16 && length <= longestCancel && start.length === length;
}

/** Time limit of the first bytes, ms. */
const startMs = 30_000;

/** The first bytes of a connection, which stays paused; empty when it ends before, or sends nothing for too long. */
export async function readStart(socket: Socket): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const done = (): void => resolve(Buffer.alloc(0));
  const timer = setTimeout(done, startMs);
  const onData = (chunk: Buffer): void => {
    socket.pause();
    resolve(chunk);
  };
  socket.once("data", onData).once("end", done).once("close", done).resume();
  const start = await promise;
  clearTimeout(timer);
  socket.off("data", onData).off("end", done).off("close", done);
  return start;
}
