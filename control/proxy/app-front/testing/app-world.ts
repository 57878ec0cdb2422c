import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { encodeStreamReply, type StreamReply, type StreamRequest } from "../../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../../test/inside/connect-agent.ts";
import {
  type Arrived,
  acceptFront,
  certificatesFor,
  connectFront,
  type FrontOptions,
  type Presented,
  type Route,
} from "../../../../test/inside/front-user.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { until } from "../../../../test/world/until.ts";

/** A stream that reached the fake agent. */
export interface Reached {
  readonly request: StreamRequest;
  /** Of the certificate that the proxy presented. */
  readonly user: UserIdentity;
}

/** A cluster whose proxy is `proxy.example.test`, and an agent that offers `wiki` (HTTP) and `raw` (TCP); `ann` may use both. */
export interface AppWorld extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly agent: TestAgent;
  readonly reached: Reached[];
  /** Largest number of streams at a time that the agent had not let in yet. */
  mostArriving: number;
  /** What the agent does with a client's bytes once it has accepted the stream; default: it echoes. */
  serve: (client: TLSSocket) => void;
  /** The agent's refusal; undefined: none. */
  refusal: StreamReply | undefined;
  /** A certificate of a user for one resource; by default of ann for `wiki`. */
  certificate(route?: Route, user?: string): Promise<Presented>;
  /** TLS to the web port under this name, verified by the cluster's authority. */
  connect(servername: string, presented?: Presented, more?: FrontOptions): Promise<TLSSocket>;
}

export const proxyHost = "proxy.example.test";

export async function appWorld(options: Parameters<typeof startTestCluster>[0] = {}): Promise<AppWorld> {
  const cluster = await startTestCluster({ ...options, proxy: { publicAddr: { host: proxyHost, port: 443 }, ...options.proxy } });
  await cluster.putRole("dev", { allow: { app_labels: { env: "test" } } });
  await cluster.putRole("none", { allow: {} });
  const credentials = await joinServingHost(cluster, "app-1", "app");
  const serve = (client: TLSSocket): void => void client.pipe(client);
  const world: Pick<AppWorld, "reached" | "serve" | "refusal" | "mostArriving"> = { reached: [], serve, refusal: undefined, mostArriving: 0 };
  let arriving = 0;
  const onStream = (channel: Duplex, request: StreamRequest): void => {
    arriving += 1;
    world.mostArriving = Math.max(world.mostArriving, arriving);
    const accepted = acceptFront(channel, credentials, "app").finally(() => {
      arriving -= 1;
    });
    void serveStream(world, request, accepted).catch(() => channel.destroy());
  };
  const agent = await startTestAgent(cluster, { hostname: "app-1", credentials, onStream });
  const resources = [
    { kind: "app", name: "wiki", labels: { env: "test" }, details: { scheme: "http" } },
    { kind: "app", name: "raw", labels: { env: "test" }, details: { scheme: "tcp", public_addr: "raw.example.org" } },
  ];
  agent.send({ type: "resources", resources, more: false });
  await until("the auth service knows them", async () => (await cluster.admin.listOffered({ kind: "app" })).resources.length === resources.length);
  return Object.assign(world, {
    cluster,
    agent,
    certificate: certificatesFor(cluster, { routeKind: "app", routeName: "wiki" }),
    connect: async (servername: string, presented?: Presented, more?: FrontOptions) => await connectFront(cluster, servername, presented, more),
    [Symbol.asyncDispose]: async () => {
      agent.end();
      await cluster[Symbol.asyncDispose]();
    },
  });
}

/** As an agent does, without a decision of its own. */
async function serveStream(
  world: Pick<AppWorld, "reached" | "serve" | "refusal">,
  request: StreamRequest,
  accepted: Promise<Arrived>,
): Promise<void> {
  const { tls, user } = await accepted;
  world.reached.push({ request, user });
  tls.write(encodeStreamReply(world.refusal ?? { ok: true }));
  if (world.refusal === undefined) world.serve(tls);
}
