import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import type { User } from "./cluster-user.ts";

/** A client at the web port of a proxy, under one host name: of an application, or the proxy's own. */
export interface Visitor {
  /** Address that names of applications resolve to. */
  readonly address: string;
  readonly port: number;
  readonly host: string;
  /** Authorities of the proxy's certificate, PEM. */
  readonly ca: string;
  /** The user's certificate; left out: a browser, or a stranger. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** The cookies of a browser. */
  readonly cookie?: string | undefined;
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** TLS to the web port, verified, as a client that speaks these protocols. */
export async function connectAs({ address, port, host, ca, certificate }: Visitor, protocols: readonly string[] = ["http/1.1"]): Promise<TLSSocket> {
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host: address, port, ca, ALPNProtocols: [...protocols], ...servername, ...certificate });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

/** A request whose body is still to come, over a connection of its own. */
export async function beginRequest(visitor: Visitor, { method = "GET", path = "/", headers = {} }: Sent = {}): Promise<ClientRequest> {
  const socket = await connectAs(visitor);
  const own = { host: `${visitor.host}:${visitor.port}`, ...(visitor.cookie !== undefined && { cookie: visitor.cookie }) };
  const sent = request({ createConnection: () => socket, method, path, headers: { ...own, ...headers } });
  return sent.on("error", () => {});
}

export async function ask(visitor: Visitor, sent: Sent = {}): Promise<Answer> {
  const begun = await beginRequest(visitor, sent);
  begun.end(sent.body);
  return await answerTo(begun);
}

export async function answerTo(begun: ClientRequest): Promise<Answer> {
  const [response] = (await once(begun, "response")) as [IncomingMessage];
  const chunks = (await response.toArray()) as Buffer[];
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

/** Fields of a request for a WebSocket. */
export const webSocketHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": randomBytes(16).toString("base64"),
};

/** A WebSocket that is open, as the bytes under it. */
export async function openSocket(visitor: Visitor, path: string): Promise<Duplex> {
  const begun = await beginRequest(visitor, { path, headers: webSocketHeaders });
  begun.end();
  const [, socket] = (await once(begun, "upgrade")) as [IncomingMessage, Duplex];
  return socket.on("error", () => {}).resume();
}

/** Bytes as they are, and all that comes back until the end of the connection. */
export async function askRaw(visitor: Visitor, lines: readonly string[]): Promise<string> {
  const socket = await connectAs(visitor);
  const cookie = visitor.cookie === undefined ? [] : [`Cookie: ${visitor.cookie}`];
  socket.write(`${[...lines, ...cookie].join("\r\n")}\r\n\r\n`, "latin1");
  return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
}

/** The value of each field of this name, of a list of names and values in turn. */
export function fieldValues(raw: readonly string[], name: string): readonly string[] {
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);
}

export interface AppLogin {
  readonly visitor: Visitor;
  /** The command that is printed. */
  readonly curl: string;
}

/** `tsh apps login`: a client with the user's certificate for one application. */
export async function logInToApp(user: User, app: string, { address, port }: Pick<Visitor, "address" | "port">): Promise<AppLogin> {
  const done = await user.tsh(["apps", "login", app, "--format=json"]);
  if (done.status !== 0) throw new Error(`tsh apps login ${app}: ${done.stderr}`);
  const { uri, ca, cert, key, curl } = JSON.parse(done.stdout) as Record<"uri" | "ca" | "cert" | "key" | "curl", string>;
  const [caPem = "", certPem = "", keyPem = ""] = await Promise.all([ca, cert, key].map((file) => readFile(file, "utf8")));
  const visitor = { address, port, host: new URL(uri).hostname, ca: caPem, certificate: { cert: certPem, key: keyPem } };
  return { visitor, curl };
}
