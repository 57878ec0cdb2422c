import { Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { otherCluster } from "../core/api/ca-pin.ts";
import { type PlatformError, toPlatformError } from "../core/errors/platform-error.ts";
import { serviceNames } from "../core/kinds/service-kinds.ts";
import type { Log } from "../core/log/log.ts";
import { giveBack, whenQuiet } from "../core/memory/give-back.ts";
import { sshCryptoKind } from "../core/ssh/ssh2/hooks.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { formatHostPort } from "../core/transport/host-port.ts";
import type { ListenSockets } from "../core/transport/listen-sockets.ts";
import { version } from "../core/versions/version.ts";
import { openAccessSource } from "./access/access-source.ts";
import { AuthSource } from "./auth-source.ts";
import { type AgentConfig, joinAddress } from "./config.ts";
import { followUpdater } from "./follow-updater.ts";
import { dialJoin } from "./identity/dial-join.ts";
import { followAuthorities } from "./identity/follow-authorities.ts";
import { IdentityKeeper } from "./identity/identity-keeper.ts";
import { identityStore } from "./identity/identity-store.ts";
import { joinCluster } from "./identity/join.ts";
import { HostLabels } from "./labels/host-labels.ts";
import { openReach } from "./open-reach.ts";
import { type Outbox, openOutbox } from "./outbox.ts";
import type { Reach } from "./reach.ts";
import { type ServedStreams, serveStreams } from "./serve-streams.ts";
import type { Service } from "./service/service.ts";
import { prepareServices } from "./services.ts";

export interface AgentState {
  readonly hostId: string;
  readonly cluster: string;
  readonly tunnels: number;
  /** Open user streams. */
  readonly sessions: number;
  readonly connected: boolean;
  /** Why it is not connected, as far as it knows. */
  readonly problem?: PlatformError | undefined;
}

export interface AgentDeps {
  readonly log: Log;
  readonly env: Env;
  /** Called once with the handle that describes this agent while it runs. */
  readonly report?: ((agent: { state(): AgentState }) => void) | undefined;
  /** Another process serves this host from now on: ends once the last stream has ended. */
  readonly retire?: AbortSignal | undefined;
  /** User streams in earlier processes of this host. */
  readonly elsewhere?: (() => number) | undefined;
  /** For a host that listens. */
  readonly sockets: ListenSockets;
}

/** Time that streams have to end by themselves after a stop, ms. */
const drainMs = 10_000;
/** Time for the last audit events of a replaced process, ms; the new process sends the rest. */
const farewellMs = 5_000;
const clock = { wall: () => Date.now(), steady: () => performance.now() };

/**
 * Joins when needed, keeps the tunnel and serves the streams that come through it, until aborted; then it drains. A process that another
 * one has replaced drains for as long as its streams last.
 * Throws PlatformError when it cannot go on: a refused token, a wrong pin, a damaged identity.
 */
export async function runAgent(config: AgentConfig, deps: AgentDeps, signal: AbortSignal): Promise<void> {
  const { log } = deps;
  log.info("agent starts", { version, node: config.nodename, at: formatHostPort(joinAddress(config)), sshCrypto: sshCryptoKind() });
  let agent: Agent;
  try {
    agent = await openAgent(config, { ...deps, prepared: await prepareServices(config, deps) }, signal);
  } catch (thrown) {
    if (signal.aborted) return;
    throw thrown;
  }
  const failed = Promise.withResolvers<never>();
  const background = new AbortController();
  const { retire = new AbortController().signal } = deps;
  deps.report?.(agent);
  const onFailure = (thrown: unknown): void => failed.reject(toPlatformError(thrown));
  // The new process renews the identity, for this one too.
  const kept = agent.identity.keep(AbortSignal.any([background.signal, retire]));
  kept.then(() => agent.identity.follow(background.signal)).catch(onFailure);
  const uploading = agent.outbox.run(background.signal).catch(onFailure);
  try {
    await Promise.race([aborted(signal), aborted(retire), failed.promise]);
    if (!signal.aborted && retire.aborted) {
      log.info("agent is draining: another process serves this host now", { sessions: agent.state().sessions });
      await Promise.race([agent.retire(), aborted(signal), failed.promise]);
      background.abort();
      if (!signal.aborted) await Promise.race([uploading.then(() => agent.outbox.sendRest()), sleep(farewellMs, undefined, { ref: false })]);
    }
  } finally {
    await agent.stop();
    background.abort();
    await uploading;
    await agent.close();
    log.info("agent stopped");
  }
}

interface OpenDeps extends AgentDeps {
  readonly prepared: readonly Service[];
}

interface Agent {
  readonly identity: IdentityKeeper;
  readonly outbox: Outbox;
  state(): AgentState;
  /** Resolves when the last stream has ended. */
  retire(): Promise<void>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

async function openAgent(config: AgentConfig, { log, env, prepared, elsewhere = () => 0, sockets }: OpenDeps, signal: AbortSignal): Promise<Agent> {
  const folder = join(config.dataDir, "agent");
  const services = prepared.map(({ name }) => name);
  const road = new AuthRoad(config, env);
  const auth = new AuthSource({ credentials: () => identity.current(), open: () => road.open() });
  const identity: IdentityKeeper = await IdentityKeeper.open({
    store: await identityStore({ file: join(folder, "credentials.json"), env, log }),
    hostname: config.nodename,
    names: config.host.names,
    log,
    join: () => joinCluster(config, { log, dial: { env, signal }, services }),
    client: () => auth.client(),
  });
  const { cluster, hostId } = identity.current();
  const outbox = await openOutbox({ folder, clusterName: cluster, client: () => auth.client(), log, services });
  const access = openAccessSource({ fetch: async () => await (await auth.client()).getAccess({ kinds: [...serviceNames] }), log });
  const end = new AbortController();
  const authorities = followAuthorities({ access, identity, log }, end.signal);
  const changed = (): void => road.reach?.tell();
  const labels = await HostLabels.open({ fixed: config.host.labels, commands: config.host.commands, log, changed }, end.signal);
  const { nodename, algorithms } = config;
  const serving = { services: prepared, nodename, identity, auth, outbox, access, labels, log, algorithms };
  const streams: ServedStreams = await serveStreams({ ...serving, onEstablished: () => worked() }, end.signal);
  const worked = whenQuiet({ act: () => giveBack(log, { isBusy: () => streams.open > 0 }) }, end.signal);
  log.info("identity", { host: hostId, cluster });
  const other = otherCluster(identity.current(), config.caPins);
  if (other !== undefined) log.warn(other.message, { hint: other.hint });
  const sessions = (): number => streams.open + elsewhere();
  const proxies = proxyFinder(config, auth);
  const updater = await followUpdater({ env, log, clock, auth, identity, proxies, sessions, changed });
  const serve = (channel: Duplex): Promise<void> => updater.during(streams.serve(channel)).finally(worked);
  const parts = { config, env, log, clock, identity, auth, outbox, access, authorities, labels, updater, sockets, services, serve, worked };
  const reach = await openReach(
    { ...parts, process: streams.process, offered: () => streams.offered?.current(), onResources: streams.onResources, local: () => road.local },
    end.signal,
  );
  road.reach = reach;
  streams.offered?.onChange(() => reach.tell());
  return {
    identity,
    outbox,
    state: () => ({ hostId, cluster, tunnels: reach.tunnels, sessions: streams.open, connected: reach.isConnected, problem: reach.problem }),
    retire: () => {
      updater.stop();
      return reach.retire();
    },
    stop: async () => {
      updater.stop();
      streams.stop();
      const force = AbortSignal.timeout(drainMs);
      force.addEventListener("abort", () => end.abort(), { once: true });
      await reach.stop(force);
      end.abort();
    },
    close: async () => {
      auth.close();
      await outbox.close();
    },
  };
}

/** Addresses of proxies: the configured one, or those that the auth service knows. */
function proxyFinder({ way }: AgentConfig, auth: AuthSource): () => Promise<readonly string[]> {
  if (way.kind === "proxy") return async () => [formatHostPort(way.proxyServer)];
  return async () => (await (await auth.client()).getCluster({})).proxyPublicAddrs;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Byte streams to the auth service: through a tunnel that is up, otherwise through the address where the host joins. */
class AuthRoad {
  readonly #config: Pick<AgentConfig, "way">;
  readonly #env: Env;
  /** Resolves once the stream is open. */
  reach: Reach | undefined;
  /** This host's local address on its last connection there. */
  local: string | undefined;

  constructor(config: Pick<AgentConfig, "way">, env: Env) {
    this.#config = config;
    this.#env = env;
  }

  async open(): Promise<Duplex> {
    const inside = this.reach?.openAuth();
    if (inside !== undefined) return await inside;
    const stream = await dialJoin(this.#config, { env: this.#env });
    if (stream instanceof Socket) this.local = stream.localAddress;
    return stream;
  }
}
