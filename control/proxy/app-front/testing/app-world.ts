import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { openAuthClient } from "../../../../core/api/auth-client.ts";
import type { HostCredentials } from "../../../../core/api/host-credentials.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { fromX509Certificate } from "../../../../core/identity/x509-identity.ts";
import { alpn } from "../../../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, type StreamReply, type StreamRequest } from "../../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { generateKeys } from "../../../../test/inside/user-keys.ts";
import { until } from "../../../../test/world/until.ts";

/** A stream that reached the fake agent. */
export interface Reached {
  readonly request: StreamRequest;
  /** Of the certificate that the proxy presented. */
  readonly user: UserIdentity;
}

export interface Presented {
  readonly certificate: string;
  readonly privateKey: string;
}

type Route = { readonly routeKind?: string; readonly routeName?: string; readonly routeAccount?: string; readonly ttlSeconds?: number };

/** A cluster whose proxy is `proxy.example.test`, and an agent that offers `wiki` (HTTP) and `raw` (TCP); `ann` may use both. */
export interface AppWorld extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly agent: TestAgent;
  readonly reached: Reached[];
  /** What the agent does with a client's bytes once it has accepted the stream; default: it echoes. */
  serve: (client: TLSSocket) => void;
  /** The agent's refusal; undefined: none. */
  refusal: StreamReply | undefined;
  /** A certificate of a user for one resource; by default of ann for `wiki`. */
  certificate(route?: Route, user?: string): Promise<Presented>;
  /** TLS to the web port under this name, verified by the cluster's authority. */
  connect(servername: string, presented?: Presented, more?: ConnectionOptions): Promise<TLSSocket>;
}

export const proxyHost = "proxy.example.test";

export async function appWorld(options: Parameters<typeof startTestCluster>[0] = {}): Promise<AppWorld> {
  const cluster = await startTestCluster({ ...options, proxy: { publicAddr: { host: proxyHost, port: 443 }, ...options.proxy } });
  await cluster.putRole("dev", { allow: { app_labels: { env: "test" } } });
  await cluster.putRole("none", { allow: {} });
  const credentials = await joinServingHost(cluster, "app-1", "app");
  const world: Pick<AppWorld, "reached" | "serve" | "refusal"> = { reached: [], serve: (client) => void client.pipe(client), refusal: undefined };
  const onStream = (channel: Duplex, request: StreamRequest): void =>
    void serveStream(world, { channel, request, credentials }).catch(() => channel.destroy());
  const agent = await startTestAgent(cluster, { hostname: "app-1", credentials, onStream });
  const resources = [
    { kind: "app", name: "wiki", labels: { env: "test" }, details: { scheme: "http" } },
    { kind: "app", name: "raw", labels: { env: "test" }, details: { scheme: "tcp", public_addr: "raw.example.org" } },
  ];
  agent.send({ type: "resources", resources, more: false });
  await until("the auth service knows them", async () => (await cluster.admin.listOffered({ kind: "app" })).resources.length === resources.length);
  const users = new Map<string, Presented>();
  return Object.assign(world, {
    cluster,
    agent,
    certificate: async (route: Route = {}, name = "ann"): Promise<Presented> => {
      const known = users.get(name) ?? (await logIn(cluster, name));
      users.set(name, known);
      const keys = generateKeys();
      using client = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials: known });
      const wanted = { routeKind: "app", routeName: "wiki", tlsPublicKey: keys.tlsPublicKey, ...route };
      const { tlsCertificate } = await client.client.signOwnUser(wanted);
      return { certificate: tlsCertificate, privateKey: keys.tlsPrivateKey };
    },
    connect: async (servername: string, presented?: Presented, more: ConnectionOptions = {}) => {
      const own = presented === undefined ? {} : { cert: presented.certificate, key: presented.privateKey };
      const socket = await cluster.open();
      const tls = connectTls({ socket, servername, ca: [...cluster.hostCaPem], ALPNProtocols: ["h2", "http/1.1"], ...own, ...more });
      tls.on("error", () => {});
      await once(tls, "secureConnect");
      return tls;
    },
    [Symbol.asyncDispose]: async () => {
      agent.end();
      await cluster[Symbol.asyncDispose]();
    },
  });
}

async function logIn(cluster: TestCluster, name: string): Promise<Presented> {
  const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await cluster.login(name, { roles: [name === "ann" ? "dev" : "none"] });
  return { certificate, privateKey };
}

interface Stream {
  readonly channel: Duplex;
  readonly request: StreamRequest;
  readonly credentials: HostCredentials;
}

/** As an agent does, but for its own decision. */
async function serveStream(world: Pick<AppWorld, "reached" | "serve" | "refusal">, { channel, request, credentials }: Stream): Promise<void> {
  channel.write(encodeStreamReply({ ok: true }));
  const tls = await terminateTls(channel, { context: hostContext(credentials), alpn: alpn.service, requestCertificate: true });
  tls.on("error", () => {});
  const own = decodeStreamRequest(await readFrame(tls, { maxLength: 16_384, timeoutMs: 5_000, what: "frame" }));
  const certificate = tls.getPeerX509Certificate();
  const user = certificate && fromX509Certificate(new X509Certificate(certificate.raw));
  if (own.kind !== "app" || user?.kind !== "user") throw new Error("not a user's request for an application");
  world.reached.push({ request, user });
  tls.write(encodeStreamReply(world.refusal ?? { ok: true }));
  if (world.refusal === undefined) world.serve(tls);
}
