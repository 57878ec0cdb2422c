import type { TerminalAsk, TerminalControl, TerminalNotice } from "../../core/api/web/terminal.ts";
import { Outbox } from "./outbox.ts";
import { Pulse } from "./pulse.ts";

export interface TerminalEvents {
  readonly opened: (notice: Extract<TerminalNotice, { type: "opened" }>) => void;
  /** Bytes for the screen; `shown` is called once they are on it. */
  readonly output: (bytes: Uint8Array, shown: () => void) => void;
  /** Called once. Undefined: the connection was lost. */
  readonly ended: (notice: TerminalEnd | undefined) => void;
}

/** How a terminal has ended. */
export type TerminalEnd = Extract<TerminalNotice, { type: "ended" | "error" }>;

export interface OpenTerminal {
  /** False: it is too much at once, and was not sent. */
  type(bytes: Uint8Array<ArrayBuffer>): boolean;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  close(): void;
}

/** Shown bytes after which the proxy is notified: it sends at most half a megabyte ahead. */
const reportBytes = 32_768;

/** A terminal at the proxy (core/api/web/terminal.ts has the messages). `token`: of this page's session. */
export function openSocket(ask: TerminalAsk, token: string, events: TerminalEvents): OpenTerminal {
  const socket = new WebSocket(`wss://${location.host}/webapi/v1/terminal`);
  socket.binaryType = "arraybuffer";
  const outbox = new Outbox(socket);
  const control = (message: TerminalControl): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    pulse.stop();
    unfollow();
    outbox.close();
  };
  const end = (notice: TerminalEnd | undefined): void => {
    if (isOver) return;
    stop();
    socket.close();
    events.ended(notice);
  };
  const pulse = new Pulse({
    ask: () => control({ type: "read", bytes: 0 }),
    lost: () => end(undefined),
  });
  const unfollow = checkOnReturn(pulse);
  const report = reporter((bytes) => control({ type: "read", bytes }));
  const show = (bytes: Uint8Array): void => events.output(bytes, () => report(bytes.length));
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ token }));
    socket.send(JSON.stringify(ask));
  });
  socket.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (isOver) return;
    if (data instanceof ArrayBuffer) {
      pulse.heard(false);
      return show(new Uint8Array(data));
    }
    const notice = JSON.parse(String(data)) as TerminalNotice;
    pulse.heard(notice.type === "alive");
    if (notice.type === "opened") {
      pulse.start();
      events.opened(notice);
    } else if (notice.type === "ended" || notice.type === "error") end(notice);
  });
  socket.addEventListener("close", () => end(undefined));
  return {
    type: (bytes) => outbox.push(bytes),
    resize: ({ cols, rows }) => control({ type: "resize", cols, rows }),
    close: () => {
      control({ type: "end" });
      stop();
      socket.close();
    },
  };
}

/** Checks a pulse whenever the page is seen again, or the network is back. Returns what ends that. */
function checkOnReturn(pulse: Pulse): () => void {
  const check = (): void => pulse.check();
  addEventListener("online", check);
  document.addEventListener("visibilitychange", check);
  return () => {
    removeEventListener("online", check);
    document.removeEventListener("visibilitychange", check);
  };
}

/** Sums up the bytes that were shown, and sends their number every so often. */
function reporter(send: (bytes: number) => void): (bytes: number) => void {
  let shown = 0;
  return (bytes) => {
    shown += bytes;
    if (shown < reportBytes) return;
    send(shown);
    shown = 0;
  };
}
