import { once } from "node:events";
import type { WebSocket } from "ws";
import type { TestCluster } from "./open-cluster.ts";
import type { WebBrowser } from "./web-browser.ts";
import { dialTerminal } from "./web-terminal.ts";

/** An upload as its page makes it. */
export interface WebUpload {
  readonly socket: WebSocket;
  readonly notices: Record<string, unknown>[];
  /** Resolves with the last notice once the proxy has closed it. */
  readonly closed: Promise<Record<string, unknown> | undefined>;
}

/** Begins an upload with this browser's session; `ask` is its second message. `ready` is called once the proxy takes bytes. */
export async function openUpload(
  cluster: TestCluster,
  browser: Pick<WebBrowser, "cookie" | "token">,
  { ask, ready }: { readonly ask: object; readonly ready?: (socket: WebSocket) => void },
): Promise<WebUpload> {
  const origin = `https://localhost:${cluster.proxy.addresses.web.port}`;
  const socket = await dialTerminal(cluster, { cookie: browser.cookie, origin, path: "/webapi/v1/files/upload" });
  if (typeof socket === "number") throw new Error(`the upgrade was refused with ${socket}`);
  const notices: Record<string, unknown>[] = [];
  socket.on("message", (data: Buffer) => {
    const notice = JSON.parse(data.toString()) as Record<string, unknown>;
    notices.push(notice);
    if (notice.type === "ready") ready?.(socket);
  });
  const closed = once(socket, "close").then(() => notices.at(-1));
  socket.send(JSON.stringify({ token: browser.token }));
  socket.send(JSON.stringify(ask));
  return { socket, notices, closed };
}
