import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { AppWorld } from "./app-world.ts";

/* Requests of a browser, each over a connection of its own. */

export interface SiteAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

export interface SiteCall {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Host name of the application. */
  readonly at?: string;
}

type At = SiteCall & { readonly at: string };

/** A request that has not ended yet. */
export async function beginAt(world: Pick<AppWorld, "connect">, path: string, { method = "GET", headers = {}, at }: At): Promise<ClientRequest> {
  const socket = await world.connect(at, undefined, { ALPNProtocols: ["http/1.1"] });
  return httpRequest({ createConnection: () => socket, method, path, headers: { host: at, ...headers } });
}

export async function callAt(world: Pick<AppWorld, "connect">, path: string, sent: At): Promise<SiteAnswer> {
  const request = await beginAt(world, path, sent);
  request.end(sent.body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** Headers with which a browser opens a page. */
export const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", accept: "text/html" };

/** The cookies that an answer sets, `name=value` each. */
export function pairsOf({ headers }: SiteAnswer): string[] {
  return (headers["set-cookie"] ?? []).map((cookie) => cookie.split(";")[0] ?? "");
}

export function query(facts: Record<string, string>): string {
  return new URLSearchParams(facts).toString();
}
