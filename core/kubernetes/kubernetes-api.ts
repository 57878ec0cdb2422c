import { PlatformError } from "../errors/platform-error.ts";
import type { HttpAnswer } from "../transport/dial/get-over.ts";
import { HttpOrigin, type HttpRequest, type HttpStream } from "../transport/dial/http-origin.ts";
import type { InCluster } from "./in-cluster.ts";

/** What is asked of the API server: a body is sent as JSON, of another type where `contentType` says so. */
export interface ApiRequest extends Pick<HttpRequest, "method" | "path" | "timeoutMs" | "maxBytes" | "signal"> {
  readonly body?: unknown;
  readonly contentType?: "application/json-patch+json" | "application/merge-patch+json";
}

/** Requests to one API server. */
export interface KubernetesRequests {
  request(request: ApiRequest): Promise<HttpAnswer>;
  /** An answer that lasts, as that of a watch. */
  stream(request: ApiRequest & { readonly signal: AbortSignal }): Promise<HttpStream>;
}

/**
 * The API server of this pod's cluster, asked as the pod's service account. Never through an HTTP proxy: the address is the cluster's own.
 * One request at a time on a kept connection; streams have their own. Throws what `HttpOrigin` throws; statuses are the caller's to judge.
 */
export class KubernetesApi implements KubernetesRequests, AsyncDisposable {
  readonly #cluster: InCluster;
  readonly #origin: HttpOrigin;

  constructor(cluster: InCluster) {
    this.#cluster = cluster;
    const { host, port } = cluster;
    this.#origin = new HttpOrigin({ target: { host, port }, env: {}, ca: async () => [(await cluster.credentials()).caPem] });
  }

  async request(request: ApiRequest): Promise<HttpAnswer> {
    return await this.#origin.send(await this.#prepared(request));
  }

  async stream(request: ApiRequest & { readonly signal: AbortSignal }): Promise<HttpStream> {
    return await this.#origin.stream({ ...(await this.#prepared(request)), signal: request.signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#origin[Symbol.asyncDispose]();
  }

  async #prepared({ body, contentType, ...request }: ApiRequest): Promise<HttpRequest> {
    const { token } = await this.#cluster.credentials();
    const typed = body === undefined ? {} : { "content-type": contentType ?? "application/json" };
    const headers = { authorization: `Bearer ${token}`, accept: "application/json", ...typed };
    return { ...request, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  }
}

/**
 * The JSON of a successful answer. Throws by its status: `not_found`, `conflict` (also a JSON patch whose test failed), `denied`, `unavailable`
 * (429 and 5xx), `invalid` for others, with the sentence of the API server's Status object; `invalid` for anything but JSON.
 */
export function answeredJson({ status, body }: Pick<HttpAnswer, "status" | "body">, what: string): unknown {
  const value = parsed(body);
  if (status >= 200 && status < 300) {
    if (value === undefined) throw new PlatformError("invalid", `${what}: the API server's answer is not JSON`);
    return value;
  }
  throw new PlatformError(codeOf(status), `${what}: ${messageOf(value) ?? `the API server answered with status ${status}`}`);
}

function codeOf(status: number): "not_found" | "conflict" | "denied" | "unavailable" | "invalid" {
  if (status === 404) return "not_found";
  if (status === 409 || status === 422) return "conflict";
  if (status === 401 || status === 403) return "denied";
  return status === 429 || status >= 500 ? "unavailable" : "invalid";
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function messageOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("message" in value) || typeof value.message !== "string") return undefined;
  return value.message.slice(0, 300).replace(/[^\x20-\x7e]/g, "?");
}
