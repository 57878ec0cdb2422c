import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readUntil } from "./read-until.ts";
import { ReplyFilter } from "./reply-filter.ts";

/** Maximum bytes of a reply before the relay begins, and time for it, ms. */
const maxReply = 64 * 1024;
const replyMs = 15_000;

/** Sends a command to a server that owes no other reply, and returns the whole reply, of at most so many bytes. Throws `unavailable`, `timeout`. */
export async function askServer(server: Duplex, command: Buffer, signal: AbortSignal, most = maxReply): Promise<Buffer> {
  server.write(command);
  let isWhole = false;
  const filter = new ReplyFilter({
    onError: () => undefined,
    onReply: () => {
      isWhole = true;
    },
  });
  let seen = 0;
  const parse = (bytes: Buffer) => {
    try {
      filter.push(bytes.subarray(seen));
    } catch (cause) {
      throw new PlatformError("unavailable", "the server does not speak the protocol of Redis", { cause });
    }
    seen = bytes.length;
    if (isWhole && filter.atBoundary && filter.heldBytes === 0) return { value: bytes, length: bytes.length };
    if (seen > most) throw new PlatformError("unavailable", `the server sent more than ${most} bytes as one reply`);
    return undefined;
  };
  return await readUntil(server, parse, { timeoutMs: replyMs, signal, what: "reply from the server" });
}

/** The error of a reply, without its type; undefined: it is another reply. */
export function errorOf(reply: Buffer): string | undefined {
  return reply[0] === "-".charCodeAt(0) ? reply.toString("utf8", 1).trimEnd() : undefined;
}
