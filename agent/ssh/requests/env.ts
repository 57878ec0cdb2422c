import type { EnvRequest } from "../../../core/ssh/channel-requests.ts";
import { isAcceptedVariable } from "../program/session-environment.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `env`: a variable for the program; all but a few names are refused. */
export function env(channel: SessionChannel, { accept, reject }: RequestReply, { key: name, val: value }: EnvRequest): void {
  if (!isAcceptedVariable(name, value, channel.variables.size)) {
    reject?.();
    return;
  }
  channel.variables.set(name, value);
  accept?.();
}
