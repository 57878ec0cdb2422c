import type { ServerChannel } from "ssh2";
import { runProgram } from "../program/run-program.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `shell`: the user's login shell. */
export function shell(channel: SessionChannel, { accept }: RequestReply): void {
  // Accepted at once, or the client's early input would be lost; an error is reported on standard error.
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runProgram(channel, stream));
}
