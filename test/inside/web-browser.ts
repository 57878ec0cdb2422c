import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { codeAt } from "../world/one-time-code.ts";
import { enrolUser } from "./enrol-user.ts";
import type { TestCluster } from "./open-cluster.ts";

export interface WebAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** What the JSON of the answer holds; `{}` for none. */
  readonly body: Record<string, unknown>;
}

export interface WebCall {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A request to the web port of the cluster's proxy. */
export async function callWeb(cluster: TestCluster, path: string, { method = "GET", body, headers = {} }: WebCall = {}): Promise<WebAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const sent = request({
    host: "127.0.0.1",
    port: cluster.proxy.addresses.web.port,
    path,
    method,
    headers: { ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }), ...headers },
    ca: [...cluster.hostCaPem],
    servername: "localhost",
    agent: false,
  });
  sent.end(text);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let received = "";
  for await (const chunk of response) received += String(chunk);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: received === "" ? {} : (JSON.parse(received) as Record<string, unknown>),
  };
}

/** A browser in which a user is logged in: makes calls of the API in that session. */
export type WebBrowser = ((path: string, call?: WebCall) => Promise<WebAnswer>) & {
  /** `name=value` of the session's cookie, and its token. */
  readonly cookie: string;
  readonly token: string;
  /** The cookies with their attributes, as the login's answer sets them. */
  readonly setCookies: readonly string[];
};

/** Enrols a user with these roles, and logs in. */
export async function openBrowser(cluster: TestCluster, name: string, roles: readonly string[]): Promise<WebBrowser> {
  const { password, otpauthUri } = await enrolUser({ admin: cluster.admin, client: cluster.admin }, { name, roles, logins: ["root"] }, new Date());
  // The code of the enrolment is used up; the next one is good already.
  const code = codeAt(otpauthUri, new Date(Date.now() + 30_000));
  return await logInBrowser(cluster, { user: name, password, code });
}

/** Logs in. */
export async function logInBrowser(
  cluster: TestCluster,
  secrets: { readonly user: string; readonly password: string; readonly code: string },
): Promise<WebBrowser> {
  const { status, headers, body } = await callWeb(cluster, "/webapi/v1/sessions", { method: "POST", body: secrets });
  if (status !== 200) throw new Error(`could not log in: ${JSON.stringify(body)}`);
  const setCookies = headers["set-cookie"] ?? [];
  const [cookie = ""] = (setCookies[0] ?? "").split(";");
  const session = { cookie, authorization: `Bearer ${String(body.token)}` };
  const make = (path: string, call: WebCall = {}) => callWeb(cluster, `/webapi/v1${path}`, { ...call, headers: { ...session, ...call.headers } });
  return Object.assign(make, { cookie, token: String(body.token), setCookies });
}
