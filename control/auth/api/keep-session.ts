import type { ServerHttp2Session } from "node:http2";

/** Silence after which a connection is checked, and the time for a PING's answer, ms. */
const idleMs = 60_000;
const pingMs = 15_000;

/**
 * Ends idle connections and those whose peer is gone. A watch may be silent for a long time: its peer answers pings.
 * `cut` ends the connection below: a destroyed session waits for its last write, which a lost peer never accepts.
 * `quiet` resolves once no call is open.
 */
export function keepSession(session: ServerHttp2Session, cut: () => void): { quiet(): Promise<void> } {
  let streams = 0;
  const waiting: (() => void)[] = [];
  const giveUp = (): void => {
    session.destroy();
    cut();
  };
  const tell = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  session.on("error", () => {});
  session.on("stream", (stream) => {
    streams += 1;
    stream.once("close", () => {
      streams -= 1;
      if (streams === 0) tell();
    });
  });
  session.once("close", tell);
  session.setTimeout(idleMs, () => {
    if (streams === 0) {
      session.close();
      return;
    }
    const timer = setTimeout(giveUp, pingMs);
    const sent = session.ping((error) => {
      clearTimeout(timer);
      if (error !== null) giveUp();
    });
    if (!sent) {
      clearTimeout(timer);
      giveUp();
    }
  });
  return {
    quiet: () =>
      new Promise((resolve) => {
        if (streams === 0 || session.destroyed) resolve();
        else waiting.push(resolve);
      }),
  };
}
