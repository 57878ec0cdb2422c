import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { openAuthClient } from "../../../../core/api/auth-client.ts";
import type { HostCredentials } from "../../../../core/api/host-credentials.ts";
import { u32 } from "../../../../core/bytes/fields.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { type DbProtocol, dbProtocols } from "../../../../core/resources/db.ts";
import { encodeStreamReply, type StreamRequest } from "../../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent } from "../../../../test/inside/connect-agent.ts";
import { acceptFront, type Presented } from "../../../../test/inside/front-user.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { generateKeys } from "../../../../test/inside/user-keys.ts";
import { until } from "../../../../test/world/until.ts";

/** A stream that reached a fake agent. */
export interface Reached {
  /** Id of the agent's host. */
  readonly host: string;
  readonly request: StreamRequest<"db">;
  /** Of the certificate that the proxy presented. */
  readonly user: UserIdentity;
}

/** A cluster whose proxy has a port for each protocol, and an agent that offers a database of each, named like its protocol. */
export interface FrontWorld extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** Of the agent's host. */
  readonly credentials: HostCredentials;
  readonly reached: Reached[];
  /** A second agent that offers the same databases, until it is ended. */
  secondAgent(): Promise<Disposable>;
  /** Keys of requests to cancel. */
  readonly cancelled: string[];
  /** The agent's reply to a question for the server's number of a connection of MySQL; undefined: it knows none. */
  thread: number | undefined;
  /** What the agent does with a client's bytes once it has accepted the stream; default: it echoes. */
  serve: (client: TLSSocket, reached: Reached) => void;
  /** The agent's refusal; undefined: none. */
  refusal: Parameters<typeof encodeStreamReply>[0] | undefined;
  /** The agent echoes again, refuses nothing, and has been reached by no stream. */
  reset(): void;
  port(protocol: DbProtocol | "web"): number;
  /** A certificate of alice for a database and an account, as long as her login's or of this validity. */
  certificate(database: string, account: string, ttlSeconds?: number): Promise<Presented>;
  /** A plain connection to a port. */
  dial(protocol: DbProtocol | "web"): Promise<Socket>;
  /** TLS over a connection, as a stock client of the cluster. */
  tls(socket: Socket, presented?: Presented, more?: { readonly ALPNProtocols?: string[]; readonly servername?: string }): Promise<TLSSocket>;
}

const localhost = { host: "127.0.0.1", port: 0 };

export async function frontWorld(options: Parameters<typeof startTestCluster>[0] = {}): Promise<FrontWorld> {
  const databases = { postgres: { listen: localhost }, mysql: { listen: localhost }, mongodb: { listen: localhost }, redis: { listen: localhost } };
  const cluster = await startTestCluster({ ...options, proxy: { databases, mysqlVersion: "8.0.99-front", ...options.proxy } });
  await cluster.putRole("dev", { allow: { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["*"] } });
  const user = await cluster.login("alice", { roles: ["dev"] });
  const credentials = await joinServingHost(cluster, "db-1", "db");
  const world: Served = {
    reached: [],
    cancelled: [],
    thread: undefined,
    serve: echo,
    refusal: undefined,
  };
  const agent = await startFrontAgent(world, { cluster, hostname: "db-1", credentials });
  const port: FrontWorld["port"] = (protocol) => {
    const { web, databases: bound } = cluster.proxy.addresses;
    return (protocol === "web" ? web : bound[protocol])?.port ?? 0;
  };
  return Object.assign(world, {
    cluster,
    credentials,
    port,
    reset: () => reset(world),
    secondAgent: async () => {
      const second = await startFrontAgent(world, { cluster, hostname: "db-2", credentials: await joinServingHost(cluster, "db-2", "db") });
      return { [Symbol.dispose]: () => second.end() };
    },
    certificate: async (database: string, account: string, ttlSeconds = 0): Promise<Presented> => {
      const keys = generateKeys();
      const own = { certificate: user.tlsCertificate, privateKey: user.tlsPrivateKey };
      using asAlice = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials: own });
      const wanted = { routeKind: "db", routeName: database, routeAccount: account, tlsPublicKey: keys.tlsPublicKey, ttlSeconds };
      const { tlsCertificate } = await asAlice.client.signOwnUser(wanted);
      return { certificate: tlsCertificate, privateKey: keys.tlsPrivateKey };
    },
    dial: async (protocol: DbProtocol | "web") => await dial(port(protocol)),
    tls: async (socket: Socket, presented?: Presented, more: object = {}) => {
      const own = presented === undefined ? {} : { cert: presented.certificate, key: presented.privateKey };
      const tls = connectTls({ socket, host: "127.0.0.1", ca: [...cluster.hostCaPem], ...own, ...more });
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

interface FrontAgent {
  readonly cluster: TestCluster;
  readonly hostname: string;
  readonly credentials: HostCredentials;
}

/** An agent that offers a database of each protocol, once the auth service knows of them. */
async function startFrontAgent(world: Served, { cluster, hostname, credentials }: FrontAgent) {
  const agent = await startTestAgent(cluster, {
    hostname,
    credentials,
    onStream: (channel, request) => void serveStream(world, { channel, request, credentials }).catch(() => channel.destroy()),
  });
  const resources = dbProtocols.map((name) => ({ kind: "db", name, labels: { env: "test" }, details: { protocol: name } }));
  agent.send({ type: "resources", resources, more: false });
  await until("the auth service knows them", async () => {
    const known = (await cluster.admin.listOffered({ kind: "db" })).resources;
    return known.filter((one) => JSON.stringify(one).includes(credentials.hostId)).length === resources.length;
  });
  return agent;
}

type Served = Pick<FrontWorld, "reached" | "cancelled" | "thread" | "serve" | "refusal">;

const echo: FrontWorld["serve"] = (client) => void client.pipe(client);

function reset(world: Pick<FrontWorld, "reached" | "serve" | "refusal">): void {
  world.serve = echo;
  world.refusal = undefined;
  world.reached.splice(0);
}

async function dial(port: number): Promise<Socket> {
  const socket = connectTcp(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

interface Stream {
  readonly channel: Duplex;
  readonly request: StreamRequest;
  readonly credentials: HostCredentials;
}

/** As an agent does, without a decision of its own. */
async function serveStream(world: Served, { channel, request, credentials }: Stream) {
  if (request.kind === "cancel") {
    world.cancelled.push(request.parameters.key);
    return void (world.thread === undefined ? channel.destroy() : channel.end(u32(world.thread)));
  }
  const { tls, own, user } = await acceptFront(channel, credentials, "db");
  if (own.kind !== "db") return;
  const reached = { host: credentials.hostId, request: own, user };
  world.reached.push(reached);
  tls.write(encodeStreamReply(world.refusal ?? { ok: true }));
  if (world.refusal === undefined) world.serve(tls, reached);
}
