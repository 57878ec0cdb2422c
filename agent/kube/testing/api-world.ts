import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeEach } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { openRecordings, type RecordingCall } from "../../../core/recording-spool/recordings.ts";
import { type Role, roleSchema } from "../../../core/resources/role.ts";
import { roleServerName } from "../../../core/transport/alpn.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { enterService } from "../../../test/inside/enter-service.ts";
import { type InsideService, serviceDeps } from "../../../test/inside/service-deps.ts";
import type { Access } from "../../access/access-source.ts";
import { ApiServers } from "../api-servers.ts";
import type { KubeDeps } from "../kube-deps.ts";
import { serveKube } from "../serve-kube.ts";
import { UserRequests } from "../user-requests.ts";

export const sid = "0198a2b0-0000-7000-8000-00000000000a";

/** Kinds that the server in the test knows. */
const kinds = {
  kind: "APIResourceList",
  groupVersion: "v1",
  resources: [
    ["pods", true],
    ["pods/exec", true],
    ["pods/attach", true],
    ["pods/portforward", true],
    ["pods/log", true],
    ["services", true],
    ["services/proxy", true],
    ["secrets", true],
    ["namespaces", false],
  ].map(([name, namespaced]) => ({ name, namespaced, kind: "X", verbs: namespaced ? ["deletecollection"] : [] })),
};

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

const emptyObject: Answer = (_request, response) => void response.end("{}");

export interface ApiOptions {
  readonly access?: Partial<Access>;
  readonly deps?: Partial<KubeDeps>;
  readonly follow?: InsideService["follow"];
  readonly record?: InsideService["record"];
  /** Names of the user's roles; default: `access`. */
  readonly holds?: readonly string[];
}

/** Everything at the cluster, as the groups `ops`. */
export function everything(): Role {
  return kubeRole("access", [{ kind: "*", namespace: "*", name: "*", verbs: ["*"] }]);
}

export function kubeRole(name: string, rules: readonly object[], more: object = {}): Role {
  const allow = { kubernetes_labels: { "*": "*" }, kubernetes_groups: ["ops"], kubernetes_resources: rules };
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec: { allow, ...more } });
}

/** The world of all tests of a file, to be called at its top: closed after the last of them; before each it has no requests, and answers with empty objects. */
export async function apiWorldOfFile(): Promise<ApiWorld> {
  const world = await ApiWorld.open();
  beforeEach(() => {
    world.requests.length = 0;
    world.onRequest = emptyObject;
  });
  afterAll(async () => await world[Symbol.asyncDispose]());
  return world;
}

/** An API server in a test, a Kubernetes service before it, and connections of a user, over real TLS. */
export class ApiWorld implements AsyncDisposable {
  readonly own: InsideAuthorities;
  readonly requests: { method: string; url: string; headers: readonly string[]; version: string }[] = [];
  /** How requests, and requests for other protocols, are answered. */
  onRequest: Answer = emptyObject;
  onUpgrade: Upgrade = (_request, socket) => void socket.destroy();
  readonly #server: Http2SecureServer;
  readonly #credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  readonly #folder: string;
  readonly #over = new AbortController();
  readonly #open: { destroy(): unknown }[] = [];

  static async open(): Promise<ApiWorld> {
    const own = await insideAuthorities();
    const api = await own.host("127.0.0.1");
    const server = createSecureServer({ cert: api.tlsCertificate, key: api.tlsPrivateKey, allowHTTP1: true });
    const world = new ApiWorld(own, await own.host("kube-1"), { server, folder: await mkdtemp(join(tmpdir(), "api-world-")) });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return world;
  }

  private constructor(
    own: InsideAuthorities,
    credentials: Awaited<ReturnType<InsideAuthorities["host"]>>,
    { server, folder }: { readonly server: Http2SecureServer; readonly folder: string },
  ) {
    this.own = own;
    this.#credentials = credentials;
    this.#server = server;
    this.#folder = folder;
    server.on("request", (request, response) => this.#answer(request, response));
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#open.push(socket);
      socket.on("error", () => {});
      this.#note(request);
      this.onUpgrade(request, socket, head);
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      this.#open.push(socket);
      socket.on("error", () => {});
    });
    server.on("sessionError", () => {});
  }

  #note(request: IncomingMessage | Http2ServerRequest): void {
    const { method = "", url = "", rawHeaders, httpVersion } = request;
    this.requests.push({ method, url, headers: rawHeaders, version: httpVersion });
  }

  #answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
    if (request.url === "/api/v1" && !request.headers["impersonate-user"]) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(kinds));
      return;
    }
    if (request.url === "/apis/authorization.k8s.io/v1" && !request.headers["impersonate-user"]) {
      const resources = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"].map((name) => ({ name, namespaced: false }));
      response.end(JSON.stringify({ resources }));
      return;
    }
    this.#note(request);
    this.onRequest(request, response);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Dependencies that several connections may share. */
  async service(options: ApiOptions = {}) {
    const { follow, record } = options;
    const inside = serviceDeps({
      authorities: this.own,
      credentials: this.#credentials,
      node: { name: "kube-1", labels: {} },
      access: { roles: [everything()], ...options.access },
      follow,
      record,
    });
    const calls: RecordingCall[] = [];
    const send = async (call: RecordingCall): Promise<number> => {
      calls.push(call);
      return call.offset + call.data.length;
    };
    const folder = await mkdtemp(join(this.#folder, "r-"));
    const recordings = await openRecordings({ folder, log: silentLog, send });
    const servers = new ApiServers({}, this.#over.signal);
    const server = {
      name: "prod",
      address: { host: "127.0.0.1", port: this.port },
      authority: `127.0.0.1:${this.port}`,
      basePath: "",
      serverName: roleServerName("node"),
      isInsecure: false,
      login: { ca: { value: this.own.hostCaPem }, account: { kind: "token", token: { value: "agents-own-token" } } },
    } as const;
    const cluster = servers.of({ name: "prod", labels: { env: "test" }, server });
    const deps: KubeDeps = {
      ...inside.deps,
      recordings,
      findCluster: (name) => (name === "prod" ? cluster : undefined),
      requests: new UserRequests(),
      ...options.deps,
    };
    return { deps, cluster, events: inside.events, recordings, calls, folder };
  }

  /** A user's connection to the cluster, after the reply; `error` when it is refused. */
  async enter(options: ApiOptions = {}, service?: Awaited<ReturnType<ApiWorld["service"]>>) {
    const used = service ?? (await this.service(options));
    const asked: StreamRequest<"kube"> = {
      kind: "kube",
      target: "prod",
      parameters: { host: "" },
      clientAddress: "192.0.2.7:40000",
      sessionId: sid,
      accessRevision: "1",
    };
    const user = await this.own.user("alice", options.holds && { roles: [...options.holds] });
    const { hostCaPem } = this.own;
    const serve = async (stream: Duplex): Promise<void> =>
      await serveKube(stream, asked, used.deps, { signal: this.#over.signal, established: () => {} });
    const entered = await enterService({ request: asked, user, hostCaPem, serve });
    this.#open.push(entered.tls);
    return { ...used, ...entered };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    for (const one of this.#open) one.destroy();
    this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
