import type { SignalInfo } from "ssh2";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** Signals of RFC 4254 section 6.9, without SIG, as on the wire. */
const known = ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"] as const;

/** `signal`: to the program's whole process group. */
export function signal(channel: SessionChannel, { accept, reject }: RequestReply, info: SignalInfo): void {
  const name = known.find((one) => one === info.name);
  if (name === undefined || channel.program === undefined) {
    reject?.();
    return;
  }
  const { program } = channel;
  // Earlier, it would hit the preparation of the session, and leave it half done.
  program.started.then(
    () => program.signal(`SIG${name}`),
    () => {},
  );
  accept?.();
}
