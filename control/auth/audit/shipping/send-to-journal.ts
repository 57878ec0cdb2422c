import { once } from "node:events";
import { connect } from "node:net";

/** For journald to take a batch, ms. */
const limitMs = 15_000;

/** As `journalctl -t` knows us. */
const identifier = "platform-audit";
/** Of syslog(3): informational. */
const priority = 6;

/**
 * One entry for each line, over the stream that services' output goes through too (systemd-journald.service(8)): identifier,
 * unit, priority, then whether lines have a level and go to syslog, kmsg and consoles. Resolves when journald has read it all.
 */
export async function sendToJournal(path: string, lines: readonly string[]): Promise<void> {
  const socket = connect(path);
  const signal = AbortSignal.timeout(limitMs);
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal });
    const closed = once(socket, "close", { signal });
    // It closes its end when it has read ours to the end; what it says is nothing.
    socket.resume();
    socket.end(`${identifier}\n\n${priority}\n0\n0\n0\n0\n${lines.join("\n")}\n`);
    const [hadError] = (await closed) as [boolean];
    if (hadError) throw new Error(`${path} did not take it all`);
  } finally {
    socket.destroy();
  }
}
