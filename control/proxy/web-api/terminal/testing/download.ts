import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { FilesWorld } from "./files-world.ts";

export interface Download {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
  /** False: it was cut. */
  readonly isWhole: boolean;
}

/** Asks for the content of a file, by default as alice's page does; its body is still to be read. */
export async function beginDownload(
  { cluster, alice, queryOf }: FilesWorld,
  asked: string | { readonly bytes: string },
  headers: Record<string, string> = { cookie: alice.cookie, "sec-fetch-site": "same-origin" },
): Promise<IncomingMessage> {
  const { port } = cluster.proxy.addresses.web;
  const sent = request({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    path: `/webapi/v1/files/content?${queryOf(asked)}`,
    headers,
    ca: [...cluster.hostCaPem],
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

export async function readAll(response: IncomingMessage): Promise<Download> {
  const parts: Buffer[] = [];
  response.on("data", (part: Buffer) => parts.push(part));
  response.on("error", () => {});
  await new Promise((resolve) => response.once("close", resolve));
  return { status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(parts), isWhole: response.complete };
}
