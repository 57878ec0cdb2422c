import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What the tests read of any object, or of a list, or of a Status. */
export interface KubeObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: { readonly containers?: readonly { readonly name: string; readonly image: string }[] };
  readonly status?: {
    readonly phase?: string;
    /** Of a TokenRequest. */
    readonly token?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  readonly items?: readonly KubeObject[];
  readonly secrets?: readonly object[];
  readonly message?: string;
}

export interface Answered {
  readonly status: number;
  readonly body: KubeObject;
}

/** The API server as its admin, without a client library. */
export interface KubeApi {
  ask(method: string, path: string, body?: unknown, contentType?: string): Promise<Answered>;
  /** The same, which must succeed. */
  must(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeObject>;
  /** Events of a watch, until the server ends it. */
  watch(path: string): AsyncIterable<{ readonly type: string; readonly object: KubeObject }>;
}

export const mergePatch = "application/merge-patch+json";

/** `pki`: the folder of `makeKubePki`. */
export async function kubeApi(server: string, pki: string): Promise<KubeApi> {
  const [ca, cert, key] = await Promise.all(["ca.crt", "admin.crt", "admin.key"].map((name) => readFile(join(pki, name))));
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca, cert, key });
  const watching = new Agent({ ca, cert, key });
  const ask: KubeApi["ask"] = async (method, path, body, contentType = "application/json") => {
    const data = body === undefined ? undefined : JSON.stringify(body);
    const headers = data === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(data) };
    const sent = request(`${server}${path}`, { method, agent, headers: { accept: "application/json", ...headers }, timeout: 60_000 });
    sent.on("timeout", () => sent.destroy(new Error(`${method} ${path}: no answer in a minute`)));
    sent.end(data);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return {
      status: response.statusCode ?? 0,
      body: text.startsWith("{") ? (JSON.parse(text) as KubeObject) : { metadata: { name: "" }, message: text },
    };
  };
  return {
    ask,
    must: async (method, path, body, contentType) => {
      const { status, body: answer } = await ask(method, path, body, contentType);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer).slice(0, 1000)}`);
      return answer;
    },
    watch: async function* (path) {
      const sent = request(`${server}${path}`, { agent: watching, headers: { accept: "application/json" } });
      sent.end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      for await (const line of createInterface({ input: response })) yield JSON.parse(line) as { type: string; object: KubeObject };
    },
  };
}
