import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { HostCredentials } from "../../../../core/api/host-credentials.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { encodeStreamReply, type StreamReply, type StreamRequest } from "../../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../../test/inside/connect-agent.ts";
import { acceptFront, certificatesFor, connectFront, type FrontOptions, type Presented, type Route } from "../../../../test/inside/front-user.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { until } from "../../../../test/world/until.ts";

/** A stream that reached a fake agent. */
export interface Reached {
  readonly host: string;
  readonly request: StreamRequest;
  /** Of the certificate that the proxy presented. */
  readonly user: UserIdentity;
}

interface Serving {
  readonly reached: Reached[];
  /** What an agent does with a client's bytes once it has accepted the stream; default: it echoes. */
  serve: (client: TLSSocket) => void;
  /** The refusal of the agent of this host (its name); undefined: none. */
  refusal: (host: string) => StreamReply | undefined;
}

/** A cluster whose proxy is `proxy.example.test`, and two agents that offer `prod`, the second one `hidden` too; `ann` may use `prod`. */
export interface KubeWorld extends Serving, AsyncDisposable {
  readonly cluster: TestCluster;
  readonly agents: readonly TestAgent[];
  /** A certificate of a user for one resource; by default of ann for `prod`. */
  certificate(route?: Route, user?: string): Promise<Presented>;
  /** TLS to a port of the proxy, by default the web port, under this name, verified by the cluster's authority. */
  connect(servername: string, presented?: Presented, more?: FrontOptions): Promise<TLSSocket>;
}

export const proxyHost = "proxy.example.test";
export const kubeHost = `kube-platform-proxy-alpn.${proxyHost}`;

export async function kubeWorld(options: Parameters<typeof startTestCluster>[0] = {}): Promise<KubeWorld> {
  const cluster = await startTestCluster({ ...options, proxy: { publicAddr: { host: proxyHost, port: 443 }, ...options.proxy } });
  await cluster.putRole("dev", { allow: { kubernetes_labels: { env: "test" }, kubernetes_groups: ["view"] } });
  await cluster.putRole("none", { allow: {} });
  const serving: Serving = { reached: [], serve: (client) => void client.pipe(client), refusal: () => undefined };
  const agents = await Promise.all(
    ["kube-1", "kube-2"].map(async (hostname) => {
      const credentials = await joinServingHost(cluster, hostname, "kube");
      const onStream = (channel: Duplex, request: StreamRequest): void =>
        void serveStream(serving, { channel, request, credentials, hostname }).catch(() => channel.destroy());
      const agent = await startTestAgent(cluster, { hostname, credentials, onStream });
      const prod = { kind: "kube", name: "prod", labels: { env: "test" } };
      const hidden = { kind: "kube", name: "hidden", labels: { env: "secret" } };
      agent.send({ type: "resources", resources: hostname === "kube-2" ? [prod, hidden] : [prod], more: false });
      return agent;
    }),
  );
  await until("the auth service knows them", async () => {
    const { resources } = await cluster.admin.listOffered({ kind: "kube" });
    return resources.length === 2 && resources.every(({ name, hostIds }) => hostIds.length === (name === "prod" ? 2 : 1));
  });
  return Object.assign(serving, {
    cluster,
    agents,
    certificate: certificatesFor(cluster, { routeKind: "kube", routeName: "prod" }),
    connect: async (servername: string, presented?: Presented, more?: FrontOptions) => await connectFront(cluster, servername, presented, more),
    [Symbol.asyncDispose]: async () => {
      for (const agent of agents) agent.end();
      await cluster[Symbol.asyncDispose]();
    },
  });
}

interface Stream {
  readonly channel: Duplex;
  readonly request: StreamRequest;
  readonly credentials: HostCredentials;
  readonly hostname: string;
}

/** As an agent does, without a decision of its own. */
async function serveStream(serving: Serving, { channel, request, credentials, hostname }: Stream): Promise<void> {
  const { tls, user } = await acceptFront(channel, credentials, "kube");
  serving.reached.push({ host: hostname, request, user });
  const refusal = serving.refusal(hostname);
  tls.write(encodeStreamReply(refusal ?? { ok: true }));
  if (refusal === undefined) serving.serve(tls);
}
