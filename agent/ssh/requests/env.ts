import type { SetEnvInfo } from "ssh2";
import { isAcceptedVariable } from "../program/session-environment.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `env`: a variable for the program; all but a few names are refused. */
export function env(channel: SessionChannel, { accept, reject }: RequestReply, { key, val }: SetEnvInfo): void {
  const name = String(key);
  const value = String(val);
  if (!isAcceptedVariable(name, value, channel.variables.size)) {
    reject?.();
    return;
  }
  channel.variables.set(name, value);
  accept?.();
}
