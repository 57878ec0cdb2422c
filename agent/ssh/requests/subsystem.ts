import type { ServerChannel, SubsystemInfo } from "ssh2";
import type { RequestReply, SessionChannel } from "../session-channel.ts";
import { runSftp } from "../sftp/run-sftp.ts";

/** `subsystem`: SFTP is the only one. */
export function subsystem(channel: SessionChannel, { accept, reject }: RequestReply, { name }: SubsystemInfo): void {
  if (name !== "sftp") {
    reject?.();
    return;
  }
  // Accepted at once, or the client's early input would be lost; a refusal is reported on standard error.
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runSftp(channel, stream));
}
