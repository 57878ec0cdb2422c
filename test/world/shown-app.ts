import type { IncomingMessage, ServerResponse } from "node:http";
import { echoUpgrade, WebUpstream } from "../../agent/app/testing/web-upstream.ts";

/** A request as the application has got it, from the page's `<pre>`. */
export interface ShownRequest {
  readonly url: string;
  readonly raw: readonly string[];
}

/** A web application whose page shows the request, sets what `?set=` has as a cookie, and embeds what `?frame=` has; it echoes WebSockets. */
export async function openShownApp(): Promise<WebUpstream> {
  return await WebUpstream.open(answer, echoUpgrade);
}

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
