import type { ServerChannel } from "ssh2";
import type { ExecRequest } from "../../../core/ssh/channel-requests.ts";
import { runProgram } from "../program/run-program.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `exec`: one command, given to the user's shell. */
export function exec(channel: SessionChannel, { accept }: RequestReply, { command }: ExecRequest): void {
  // Accepted at once, or what the client sends meanwhile would be lost; a fault is told on standard error.
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runProgram(channel, stream, command));
}
