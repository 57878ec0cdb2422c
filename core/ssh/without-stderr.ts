import { Writable } from "node:stream";
import type { Channel } from "ssh2";
import { channelOf } from "./ssh2.ts";

/** Already ended: it is never written to, and no channel ends it again. */
const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() }).on("error", () => {}).end();

/** Frees the standard error stream that ssh2 gives each of a server's channels, even without a program: half a KiB for each idle tunnel. */
export function withoutStderr<T extends Channel>(channel: T): T {
  const raw = channelOf(channel);
  if (raw !== undefined) raw.stderr = nowhere;
  return channel;
}
