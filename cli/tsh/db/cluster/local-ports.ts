import { Duplex } from "node:stream";
import { type MarkedPiece, MarkReader } from "../../../../core/databases/redis/member-marks.ts";
import { toPlatformError } from "../../../../core/errors/platform-error.ts";
import type { MemberPorts } from "./member-ports.ts";

/** The stream of a session with a cluster as its client reads it: numbers of local ports in place of the agent's marks. It fails where a port cannot be opened. */
export function withLocalPorts(stream: Duplex, ports: Pick<MemberPorts, "portOf">): Duplex {
  const reader = new MarkReader();
  /** A port is being opened: what is behind its mark waits. */
  let isBusy = false;
  let hasEnded = false;
  const take = (chunk: Buffer): void => {
    const pieces = reader.push(chunk);
    if (pieces.some((piece) => "member" in piece)) return void takeMarked(pieces).catch(fail);
    let hasRoom = true;
    for (const piece of pieces) hasRoom = "bytes" in piece && local.push(piece.bytes);
    if (!hasRoom) stream.pause();
  };
  const takeMarked = async (pieces: readonly MarkedPiece[]): Promise<void> => {
    isBusy = true;
    stream.pause();
    for (const piece of pieces) local.push("member" in piece ? String(await ports.portOf(piece.member)) : piece.bytes);
    isBusy = false;
    if (hasEnded) end();
    else if (local.readableLength < local.readableHighWaterMark) stream.resume();
  };
  const end = (): void => {
    local.push(reader.rest());
    local.push(null);
  };
  const fail = (thrown: unknown): void => void local.destroy(toPlatformError(thrown));
  const local = new Duplex({
    read: () => {
      if (!isBusy) stream.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      stream.write(chunk, (error) => done(error ?? null));
    },
    final: (done) => {
      stream.end(() => done());
    },
    destroy: (error, done) => {
      stream.destroy();
      done(error);
    },
  });
  stream
    .pause()
    .on("data", (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (thrown) {
        fail(thrown);
      }
    })
    .on("end", () => {
      hasEnded = true;
      if (!isBusy) end();
    })
    .on("error", () => local.destroy())
    .on("close", () => {
      if (!hasEnded) local.destroy();
    });
  return local;
}
