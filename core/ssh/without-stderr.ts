import { Writable } from "node:stream";
import type { Channel } from "ssh2";
import { channelOf } from "./ssh2.ts";

/** Ended: nobody writes to it, and no channel ends it once more. */
const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() }).on("error", () => {}).end();

/** Frees the stream for standard error that ssh2 gives each of a server's channels, one without a program too: half a KiB for each idle tunnel. */
export function withoutStderr<T extends Channel>(channel: T): T {
  const raw = channelOf(channel);
  if (raw !== undefined) raw.stderr = nowhere;
  return channel;
}
