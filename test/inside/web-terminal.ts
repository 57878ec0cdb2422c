import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { TestCluster } from "./open-cluster.ts";
import type { WebBrowser } from "./web-browser.ts";

export interface SocketAsk {
  readonly cookie?: string | undefined;
  readonly origin?: string | undefined;
  readonly headers?: Record<string, string>;
  /** Another WebSocket of the API. */
  readonly path?: string;
}

/** A WebSocket as a page of this cluster's site opens it. Resolves with the status of a refusal. */
export async function dialTerminal(
  cluster: TestCluster,
  { cookie, origin, headers = {}, path = "/webapi/v1/terminal" }: SocketAsk,
): Promise<WebSocket | number> {
  const { port } = cluster.proxy.addresses.web;
  const socket = new WebSocket(`wss://localhost:${port}${path}`, {
    ca: [...cluster.hostCaPem],
    headers: { ...(cookie !== undefined && { cookie }), ...(origin !== undefined && { origin }), ...headers },
  });
  socket.on("error", () => {});
  const refused = once(socket, "unexpected-response").then(([, response]) => {
    const { statusCode = 0 } = response as IncomingMessage;
    (response as IncomingMessage).resume();
    return statusCode;
  });
  const opened = once(socket, "open").then(() => socket);
  refused.catch(() => {});
  opened.catch(() => {});
  return await Promise.race([refused, opened]);
}

/** A terminal as its page sees it. */
export interface WebTerminal {
  readonly socket: WebSocket;
  /** The last 64 KiB of the output. */
  readonly output: () => string;
  /** Number of bytes so far. */
  readonly received: () => number;
  readonly notices: Record<string, unknown>[];
  /** Resolves with the last notice once the proxy has closed it. */
  readonly closed: Promise<Record<string, unknown> | undefined>;
  send(message: object): void;
  type(text: string | Buffer): void;
  /** Reports output as shown, as a page does; after `false` it no longer does, until `true` makes up for it. */
  shows(isOn: boolean): void;
}

/** Logs in to a terminal with this browser's session; `ask` is its second message. */
export async function openWebTerminal(cluster: TestCluster, browser: Pick<WebBrowser, "cookie" | "token">, ask: object): Promise<WebTerminal> {
  const socket = await dialTerminal(cluster, { cookie: browser.cookie, origin: `https://localhost:${cluster.proxy.addresses.web.port}` });
  if (typeof socket === "number") throw new Error(`the upgrade was refused with ${socket}`);
  let output: Buffer = Buffer.alloc(0);
  const notices: Record<string, unknown>[] = [];
  let [received, unshown, showing] = [0, 0, true];
  const report = (): void => {
    if (!showing || unshown === 0) return;
    socket.send(JSON.stringify({ type: "read", bytes: unshown }));
    unshown = 0;
  };
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) return void notices.push(JSON.parse(data.toString()) as Record<string, unknown>);
    output = Buffer.concat([output, data]).subarray(-65_536);
    received += data.length;
    unshown += data.length;
    report();
  });
  const closed = once(socket, "close").then(() => notices.at(-1));
  socket.send(JSON.stringify({ token: browser.token }));
  socket.send(JSON.stringify(ask));
  return {
    socket,
    output: () => output.toString(),
    received: () => received,
    notices,
    closed,
    send: (message) => socket.send(JSON.stringify(message)),
    type: (text) => socket.send(Buffer.from(text as string)),
    shows: (isOn) => {
      showing = isOn;
      report();
    },
  };
}
