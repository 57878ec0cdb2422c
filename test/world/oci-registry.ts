import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A publisher's key pair; the public part as PEM. */
export interface ImageKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly pem: string;
}

export function imageKey(): ImageKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { privateKey, publicKey, pem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** How the registry treats a request before it looks anything up: a status, or no answer at all. */
type Fault = number | "silent" | undefined;

export interface SignOptions {
  readonly key: ImageKey;
  /** Digest and version that the signature names; by default those of the image. */
  readonly digest?: string;
  readonly version?: string;
}

interface Stored {
  readonly body: Buffer;
  readonly type: string;
}

const indexType = "application/vnd.oci.image.index.v1+json";
const manifestType = "application/vnd.oci.image.manifest.v1+json";

/** A registry in this process, without TLS, that serves what was put into it: manifests, blobs, and tokens if it wants them. */
export class OciRegistry implements AsyncDisposable {
  fault: Fault;
  /** `anonymous`: a token that everybody gets; `user:password`: one for these credentials. */
  wantsToken: string | undefined;
  /** Answer of the token server to all; undefined: by what it is asked. */
  tokenStatus: number | undefined;
  /** Blobs are handed out from another path by a redirect. */
  redirectsBlobs = false;
  readonly requests: string[] = [];
  readonly #content = new Map<string, Stored>();
  readonly #server = createServer((request, response) => this.#serve(request, response));

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** `host:port` */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Puts an image index, or a single image for the first platform, and returns its digest. */
  publish(repository: string, tag: string, { platforms = ["linux/amd64", "linux/arm64"], isIndex = true } = {}): string {
    const manifests = platforms.map((platform) => {
      const [os = "", architecture = ""] = platform.split("/");
      const config = this.#put(repository, "blobs", { os, architecture, tag });
      const digest = this.#put(repository, "manifests", {
        schemaVersion: 2,
        mediaType: manifestType,
        config: { digest: config, size: 1 },
        layers: [],
      });
      return { mediaType: manifestType, digest, size: 1, platform: { os, architecture } };
    });
    if (!isIndex) return this.#tag(repository, tag, manifests[0]?.digest ?? "");
    const index = this.#put(repository, "manifests", { schemaVersion: 2, mediaType: indexType, manifests }, indexType);
    return this.#tag(repository, tag, index);
  }

  /** Puts cosign's classic signature of a digest. */
  sign(repository: string, digest: string, { key, digest: named = digest, version = "" }: SignOptions): void {
    const payload = Buffer.from(
      JSON.stringify({
        critical: {
          identity: { "docker-reference": repository },
          image: { "docker-manifest-digest": named },
          type: "cosign container image signature",
        },
        optional: { version },
      }),
    );
    const signature = sign("sha256", payload, key.privateKey).toString("base64");
    const blob = this.#store(repository, "blobs", { body: payload, type: "application/octet-stream" });
    const layer = {
      mediaType: "application/vnd.dev.cosign.simplesigning.v1+json",
      digest: blob,
      size: payload.length,
      annotations: { "dev.cosignproject.cosign/signature": signature },
    };
    const manifest = this.#put(repository, "manifests", { schemaVersion: 2, mediaType: manifestType, layers: [layer] });
    this.#tag(repository, `${digest.replace(":", "-")}.sig`, manifest);
  }

  remove(repository: string, tag: string): void {
    this.#content.delete(`/v2/${repository}/manifests/${tag}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #put(repository: string, kind: "blobs" | "manifests", value: object, type = manifestType): string {
    return this.#store(repository, kind, { body: Buffer.from(JSON.stringify(value)), type });
  }

  #store(repository: string, kind: "blobs" | "manifests", stored: Stored): string {
    const digest = `sha256:${createHash("sha256").update(stored.body).digest("hex")}`;
    this.#content.set(`/v2/${repository}/${kind}/${digest}`, stored);
    return digest;
  }

  #tag(repository: string, tag: string, digest: string): string {
    const stored = this.#content.get(`/v2/${repository}/manifests/${digest}`);
    if (stored !== undefined) this.#content.set(`/v2/${repository}/manifests/${tag}`, stored);
    return digest;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    this.requests.push(path);
    request.resume();
    if (this.fault === "silent") return;
    if (this.fault !== undefined) return void response.writeHead(this.fault).end();
    if (path === "/token") return void this.#token(request, response, query);
    if (this.wantsToken !== undefined && !path.startsWith("/elsewhere/") && request.headers.authorization !== "Bearer the-token") {
      const realm = `http://${this.host}/token`;
      return void response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="test",scope="repository:p:pull"` }).end();
    }
    const kept = this.#content.get(path.replace(/^\/elsewhere/, ""));
    if (kept === undefined) return void response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    if (this.redirectsBlobs && path.includes("/blobs/") && !path.startsWith("/elsewhere")) {
      return void response.writeHead(307, { location: `/elsewhere${path}` }).end();
    }
    response.writeHead(200, { "content-type": kept.type }).end(kept.body);
  }

  #token(request: IncomingMessage, response: ServerResponse, query: string): void {
    if (this.tokenStatus !== undefined) return void response.writeHead(this.tokenStatus).end();
    const basic = Buffer.from((request.headers.authorization ?? "").replace("Basic ", ""), "base64").toString();
    const isAllowed = (this.wantsToken === "anonymous" || basic === this.wantsToken) && query.includes("scope=repository%3Ap%3Apull");
    response.writeHead(isAllowed ? 200 : 401).end(isAllowed ? '{"token":"the-token"}' : "{}");
  }
}
