import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { echoUpgrade, WebUpstream } from "../../agent/app/testing/web-upstream.ts";

/** A request as the application has got it, from the page's `<pre>`. */
export interface ShownRequest {
  readonly url: string;
  readonly raw: readonly string[];
}

/**
 * A web application whose page shows the request, sets what `?set=` has as a cookie, and embeds what `?frame=` has; it echoes WebSockets. `GET /events` streams an
 * event at once, and one for each `POST /events`; `POST /upload` answers with the SHA-256 of the body.
 */
export async function openShownApp(): Promise<WebUpstream> {
  const streams = new Set<ServerResponse>();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const route = `${request.method} ${request.url}`;
    if (route === "GET /events") {
      streams.add(response.on("close", () => streams.delete(response)));
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
    } else if (route === "POST /events") {
      for (const stream of streams) stream.write("data: asked for\n\n");
      response.writeHead(204).end();
    } else if (route === "POST /upload") {
      const hash = createHash("sha256");
      request.pipe(hash).on("finish", () => response.end(hash.digest("hex")));
    } else answer(request, response);
  };
  return await WebUpstream.open(serve, echoUpgrade);
}

/** Script of its page: the events that arrive, the second of which it asks for once it has the first. */
export const eventsScript = `new Promise((resolve, reject) => {
  const got = [];
  const source = new EventSource("/events");
  source.onerror = () => reject(new Error("the stream broke after " + got.length + " events"));
  source.onmessage = ({ data }) => {
    got.push(data);
    if (got.length === 1) return fetch("/events", { method: "POST" }).catch(reject);
    source.close();
    resolve(got);
  };
})`;
/** The events that it resolves with. */
export const events: readonly string[] = ["first", "asked for"];

/** Script of its page: uploads 8 MiB with fetch, and resolves with whether the application has got these very bytes. */
export const uploadScript = `(async () => {
  const bytes = new Uint8Array(8 * 1024 * 1024);
  for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  const hash = [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const response = await fetch("/upload", { method: "POST", body: new Blob([bytes]) });
  return response.status === 200 && (await response.text()) === hash;
})()`;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const query = new URL(request.url ?? "/", "https://x").searchParams;
  const [cookie, frame] = [query.get("set"), query.get("frame")];
  const embedded = frame === null ? "" : `<iframe src="${frame}"></iframe>`;
  const text = JSON.stringify({ url: request.url, raw: request.rawHeaders }).replaceAll("<", "&lt;");
  response.writeHead(200, { "content-type": "text/html", ...(cookie !== null && { "set-cookie": cookie }) });
  response.end(`<!doctype html><title>${request.headers.host}</title>${embedded}<pre>${text}</pre>`);
}

/** The user whom the application gets in the token of the request. */
export function shownUser({ raw }: ShownRequest): unknown {
  const token = raw[raw.indexOf("Platform-Jwt-Assertion") + 1] ?? "";
  return (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sub?: unknown }).sub;
}

/** Script of a page: what comes back over a WebSocket to this place (`https:`), or `refused`. */
export function echoedOver(url: string): string {
  return `new Promise((resolve) => {
    const socket = new WebSocket(${JSON.stringify(url.replace("https:", "wss:"))});
    socket.onopen = () => socket.send("ping");
    socket.onmessage = ({ data }) => { socket.close(); resolve(data); };
    socket.onerror = () => resolve("refused");
  })`;
}

/** Addresses of applications of a cluster with this host name; a name with a dot is a host's own. */
export function appAddresses(proxyHost: string, port: () => number): (app: string, path?: string) => string {
  return (app, path = "/") => `https://${app.includes(".") ? app : `${app}.${proxyHost}`}:${port()}${path}`;
}
