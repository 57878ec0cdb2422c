import { once } from "node:events";
import { connect } from "node:net";

/** Time for journald to accept a batch, ms. */
const limitMs = 15_000;

/** Our identifier for `journalctl -t`. */
const identifier = "platform-audit";
/** Priority of syslog(3): informational. */
const priority = 6;

/**
 * One entry for each line, over the same stream as the output of services (systemd-journald.service(8)): identifier,
 * unit, priority, then whether lines have a level and go to syslog, kmsg and consoles. Resolves when journald has read it all.
 */
export async function sendToJournal(path: string, lines: readonly string[]): Promise<void> {
  const socket = connect(path);
  const signal = AbortSignal.timeout(limitMs);
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal });
    const closed = once(socket, "close", { signal });
    // It closes its end after reading all of ours, and sends nothing.
    socket.resume();
    socket.end(`${identifier}\n\n${priority}\n0\n0\n0\n0\n${lines.join("\n")}\n`);
    const [hadError] = (await closed) as [boolean];
    if (hadError) throw new Error(`${path} did not accept all of the batch`);
  } finally {
    socket.destroy();
  }
}
