import type { TerminalAsk, TerminalControl, TerminalNotice } from "../../core/api/web/terminal.ts";
import { Outbox } from "./outbox.ts";

export interface TerminalEvents {
  readonly opened: (notice: Extract<TerminalNotice, { type: "opened" }>) => void;
  /** Bytes for the screen; `shown` is called once they are on it. */
  readonly output: (bytes: Uint8Array, shown: () => void) => void;
  /** Called once. Undefined: the connection was lost. */
  readonly ended: (notice: Exclude<TerminalNotice, { type: "opened" }> | undefined) => void;
}

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
  const end = (notice: Parameters<TerminalEvents["ended"]>[0]): void => {
    if (isOver) return;
    isOver = true;
    outbox.close();
    events.ended(notice);
  };
  let shown = 0;
  const show = (bytes: Uint8Array): void => {
    events.output(bytes, () => {
      shown += bytes.length;
      if (shown < reportBytes) return;
      control({ type: "read", bytes: shown });
      shown = 0;
    });
  };
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ token }));
    socket.send(JSON.stringify(ask));
  });
  socket.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (data instanceof ArrayBuffer) return show(new Uint8Array(data));
    const notice = JSON.parse(String(data)) as TerminalNotice;
    if (notice.type === "opened") events.opened(notice);
    else end(notice);
  });
  socket.addEventListener("close", () => end(undefined));
  return {
    type: (bytes) => outbox.push(bytes),
    resize: ({ cols, rows }) => control({ type: "resize", cols, rows }),
    close: () => {
      control({ type: "end" });
      isOver = true;
      outbox.close();
      socket.close();
    },
  };
}
