import type { ServerChannel } from "ssh2";
import type { ExecRequest } from "../../../core/ssh/channel-requests.ts";
import { runProgram } from "../program/run-program.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `exec`: one command, given to the user's shell. */
export function exec(channel: SessionChannel, { accept }: RequestReply, { command }: ExecRequest): void {
  // Accepted at once, or the client's early input would be lost; an error is reported on standard error.
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runProgram(channel, stream, command));
}
