import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type Auth, openAuth } from "../../control/auth/open-auth.ts";
import type { AuthConfig, ProxyConfig } from "../../control/config.ts";
import type { ListLimits } from "../../control/limits/list-room.ts";
import { RenewingCredentials } from "../../control/proxy/identity/renewing-credentials.ts";
import { openProxy, type ProxyService } from "../../control/proxy/open-proxy.ts";
import type { UpgradeLimit } from "../../control/proxy/versions/open-version-server.ts";
import { type AuthClient, openAuthClient } from "../../core/api/auth-client.ts";
import { createLog, type Log } from "../../core/log/log.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { codeAt } from "../world/one-time-code.ts";
import { enrolUser, type NewUser } from "./enrol-user.ts";
import { generateKeys, publicKeys, type UserKeys } from "./user-keys.ts";

/** A real auth service and a real proxy in this process, on ports of their own. */
export interface TestCluster extends AsyncDisposable {
  readonly auth: Auth;
  readonly proxy: ProxyService;
  readonly admin: AuthClient;
  /** All log lines so far. */
  readonly lines: string[];
  readonly folder: string;
  readonly hostCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
  /** A TCP connection to the web port. */
  open(): Promise<Duplex>;
  /** A user with the role `access` and a role of its own name if `role` is given, logged in. */
  login(name: string, options?: { roles?: readonly string[]; logins?: readonly string[] }): Promise<UserKeys>;
  putRole(name: string, spec: object): Promise<void>;
  events(event: string): Promise<readonly Record<string, unknown>[]>;
}

export interface TestClusterOptions {
  readonly proxy?: Partial<ProxyConfig>;
  readonly mode?: "multiplex" | "separate";
  readonly now?: () => Date;
  readonly clock?: () => number;
  readonly upstreamCa?: readonly string[];
  readonly upgradeLimit?: UpgradeLimit;
  readonly listLimits?: Partial<ListLimits>;
  /** Stands between the proxy and the auth service. */
  readonly authOfProxy?: (auth: AuthClient) => AuthClient;
}

export const clusterName = "main";
const localhost = { host: "127.0.0.1", port: 0 };

export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), "platform-proxy-"));
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) });
  const stop = new AbortController();
  const auth = await openAuth(authConfig(folder, options), { log, ...quick, ...(options.now && { now: options.now }) });
  const proxy = await startProxy({ auth, folder, log, options, signal: stop.signal });
  const admin = auth.localClient("auth");
  const { hostCaPem, hostCaSsh } = await admin.getCluster({});
  const open = (): Promise<Duplex> => openSocket(proxy.addresses.web.port);
  return {
    auth,
    proxy,
    admin,
    lines,
    folder,
    hostCaPem,
    hostCaSsh,
    open,
    login: (name, { roles = ["access"], logins = ["root"] } = {}) => loginUser({ admin, open, hostCaPem }, { name, roles, logins }),
    putRole: async (name, spec) => {
      await admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec }), overwrite: true, mustExist: false });
    },
    events: async (event) => {
      const { eventsJson } = await admin.listEvents({ events: [event], limit: 1000 });
      return eventsJson.map((json) => JSON.parse(json) as Record<string, unknown>);
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.close();
      stop.abort();
      await auth.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const quick = { hashCost: { memory: 64, passes: 1, parallelism: 1 }, anonymousLimit: { perMinute: 100_000, burst: 100_000 } };

function authConfig(dataDir: string, { mode = "multiplex" }: TestClusterOptions): AuthConfig {
  return {
    dataDir,
    nodename: "box",
    clusterName,
    listen: localhost,
    names: [],
    listenerMode: mode,
    defaultSessionTtlSeconds: 3600,
    sessionRecording: "node",
  };
}

interface Starting {
  readonly auth: Auth;
  readonly folder: string;
  readonly log: Log;
  readonly options: TestClusterOptions;
  readonly signal: AbortSignal;
}

async function startProxy({ auth, folder, log, options, signal }: Starting): Promise<ProxyService> {
  const own = options.mode === "separate" ? { sshListen: localhost, tunnelListen: localhost } : {};
  const config: ProxyConfig = { dataDir: folder, nodename: "box", webListen: localhost, keypairs: [], caPins: [], ...own, ...options.proxy };
  const { publicAddr } = config;
  const { upstreamCa, upgradeLimit, listLimits, clock } = options;
  const issue = () => auth.issueProxy(["localhost", "127.0.0.1", ...(publicAddr === undefined ? [] : [publicAddr.host])]);
  const now = options.now ?? (() => new Date());
  const credentials = new RenewingCredentials({ first: await issue(), renew: issue, log, now });
  const relayAuth = (stream: Duplex, remoteAddress: string): void => auth.inject(stream, remoteAddress);
  const deps = {
    log,
    auth: (options.authOfProxy ?? ((client) => client))(auth.localClient("proxy")),
    credentials,
    relayAuth,
    listenerMode: options.mode ?? "multiplex",
    sockets: new ListenSockets(),
    now,
  } as const;
  return await openProxy(config, { ...deps, upstreamCa, upgradeLimit, listLimits, ...(clock && { clock }) }, signal);
}

export function openSocket(port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true }, () => resolve(socket.off("error", reject)));
    socket.once("error", reject);
  });
}

type Reach = Pick<TestCluster, "admin" | "open" | "hostCaPem">;

async function loginUser({ admin, open, hostCaPem }: Reach, user: NewUser): Promise<UserKeys> {
  const { name, password, otpauthUri } = await enrolUser({ admin, client: admin }, user, new Date());
  using anonymous = openAuthClient({ open, ca: hostCaPem });
  const keys = generateKeys();
  // The next step's code is good already.
  const code = codeAt(otpauthUri, new Date(Date.now() + 30_000));
  const answer = await anonymous.client.login({ user: name, password, code, ...publicKeys(keys) });
  return { ...keys, sshCertificate: answer.sshCertificate, tlsCertificate: answer.tlsCertificate };
}
