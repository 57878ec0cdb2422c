import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { HttpAnswer } from "../../../core/transport/dial/get-over.ts";
import { HttpOrigin } from "../../../core/transport/dial/http-origin.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import { credentialsFor, parseChallenge, parseToken } from "./registry-answers.ts";

export interface RegistryOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** PEM authorities; undefined for those that this machine trusts. */
  readonly ca: readonly string[] | undefined;
  /** Registries that are asked without TLS, `host:port`. */
  readonly plain: readonly string[];
  /** The text of a `.dockerconfigjson`, empty for none: read at each use, since it may be replaced. */
  readonly dockerConfig: () => Promise<string>;
  readonly signal: AbortSignal;
}

const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Limits of an answer, bytes, and of redirects: a registry hands blobs out from elsewhere. */
const maxManifest = 1_048_576;
const maxBlob = 1_048_576;
const maxRedirects = 3;

interface Place {
  readonly registry: string;
  readonly repository: string;
}

/** Reads manifests and small blobs by the registry's API (OCI distribution). One run uses it, and disposes of its connections. */
export class RegistryReader implements AsyncDisposable {
  readonly #options: RegistryOptions;
  readonly #origins = new Map<string, HttpOrigin>();
  readonly #authorizations = new Map<string, string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** By tag or digest; undefined if the registry does not have it. Throws `unavailable`, `timeout`, `denied`, `unauthenticated`, `limit`. */
  async manifest(place: Place, reference: string): Promise<Buffer | undefined> {
    const path = `/v2/${place.repository}/manifests/${encodeURIComponent(reference)}`;
    const answer = await this.#authorized(place, path, { accept: manifestTypes });
    if (answer.status === 404) return undefined;
    if (answer.status === 200) return answer.body;
    throw failedAnswer(place, answer.status);
  }

  /** A small blob. Throws as `manifest`, and `unavailable` for a missing one. */
  async blob(place: Place, digest: string): Promise<Buffer> {
    let answer = await this.#authorized(place, `/v2/${place.repository}/blobs/${digest}`, {});
    for (let hop = 0; hop < maxRedirects && answer.status >= 300 && answer.status < 400; hop += 1) answer = await this.#redirected(place, answer);
    if (answer.status === 200) return answer.body;
    throw failedAnswer(place, answer.status);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#origins.values()].map(async (origin) => await origin[Symbol.asyncDispose]()));
    this.#origins.clear();
  }

  async #authorized(place: Place, path: string, headers: Readonly<Record<string, string>>): Promise<HttpAnswer> {
    const host = hostOf(place.registry);
    const scope = `${host}/${place.repository}`;
    const known = this.#authorizations.get(scope);
    const first = await this.#get(host, path, { ...headers, ...(known !== undefined && { authorization: known }) });
    if (first.status !== 401 || known !== undefined) return first;
    const authorization = await this.#authorize(place, first.headers["www-authenticate"] ?? "");
    this.#authorizations.set(scope, authorization);
    return await this.#get(host, path, { ...headers, authorization });
  }

  /** Header for the registry: a token of its token server, fetched anonymously where no credentials are configured. */
  async #authorize({ registry }: Place, header: string): Promise<string> {
    const challenge = parseChallenge(header);
    const credentials = credentialsFor(registry, await this.#options.dockerConfig());
    const basic = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
    if (challenge === undefined)
      throw new PlatformError("denied", `registry ${registry} wants credentials in a way that is not known`, { hint: deniedHint });
    if (challenge.scheme === "basic") {
      if (basic === undefined) throw new PlatformError("denied", `registry ${registry} wants credentials`, { hint: deniedHint });
      return basic;
    }
    const realm = new URL(challenge.realm);
    const query = [realm.search.slice(1), challenge.query].filter((part) => part !== "").join("&");
    const path = `${realm.pathname}${query === "" ? "" : `?${query}`}`;
    const answer = await this.#get(this.#hostOfUrl(realm, registry), path, basic === undefined ? {} : { authorization: basic });
    const token = answer.status === 200 ? parseToken(answer.body.toString("utf8")) : undefined;
    if (token === undefined) throw refusedBy(`the token server of registry ${registry} answered with status ${answer.status}`, answer.status);
    return `Bearer ${token}`;
  }

  /** Without the authorization, which is the registry's. */
  async #redirected({ registry }: Place, { headers }: HttpAnswer): Promise<HttpAnswer> {
    const base = `${this.#isPlain(hostOf(registry)) ? "http" : "https"}://${hostOf(registry)}`;
    const location = headers.location ?? "";
    if (!URL.canParse(location, base)) throw new PlatformError("unavailable", `registry ${registry} redirects to something other than an address`);
    const url = new URL(location, base);
    return await this.#get(this.#hostOfUrl(url, registry), `${url.pathname}${url.search}`, {});
  }

  /** Only https, except for a registry without TLS, which may name itself and its like. */
  #hostOfUrl(url: URL, registry: string): string {
    const host = url.port === "" ? `${url.hostname}:${url.protocol === "http:" ? 80 : 443}` : url.host;
    if (url.protocol === "https:" || (url.protocol === "http:" && this.#isPlain(host))) return host;
    throw new PlatformError("unavailable", `registry ${registry} sends the updater to ${url.origin}, which is not https`);
  }

  async #get(host: string, path: string, headers: Readonly<Record<string, string>>): Promise<HttpAnswer> {
    const { signal } = this.#options;
    return await this.#origin(host).send({ method: "GET", path, headers, signal, maxBytes: Math.max(maxManifest, maxBlob) });
  }

  #origin(host: string): HttpOrigin {
    const known = this.#origins.get(host);
    if (known !== undefined) return known;
    const { env, ca } = this.#options;
    const plain = this.#isPlain(host);
    const origin = new HttpOrigin({ target: parseHostPort(host, plain ? 80 : 443, "registry"), env, ca: async () => ca, plain });
    this.#origins.set(host, origin);
    return origin;
  }

  #isPlain(host: string): boolean {
    return this.#options.plain.includes(host);
  }
}

function hostOf(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}

function failedAnswer({ registry, repository }: Place, status: number): PlatformError {
  return refusedBy(`registry ${registry} answered with status ${status} for ${repository}`, status);
}

/** A refusal that does not pass by itself, in the words of the chart's values. */
const deniedHint = "if this lasts, give the updater credentials that may pull there (updater.pullSecret), and the pods theirs (imagePullSecrets)";

/** `denied` for an answer that credentials would change, `limit` for too many requests, `unavailable` for any other. */
function refusedBy(message: string, status: number): PlatformError {
  if (status === 401 || status === 403) return new PlatformError("denied", message, { hint: deniedHint });
  if (status === 429) return new PlatformError("limit", message, { hint: "it allows no more requests for the moment" });
  return new PlatformError("unavailable", message);
}

/** Why a registry could not be asked, as a sentence. */
export function registryFailure(thrown: unknown): string {
  const hint = thrown instanceof PlatformError && thrown.hint !== undefined ? `; ${thrown.hint}` : "";
  return `${errorText(thrown)}${hint}`;
}
