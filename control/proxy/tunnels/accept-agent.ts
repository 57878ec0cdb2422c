import type { Duplex } from "node:stream";
import type { AcceptConnection, Connection, RejectConnection, ServerChannel, SocketBindInfo, TcpipBindInfo, TcpipRequestInfo } from "ssh2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import type { SshCertificate } from "../../../core/ssh/certificate.ts";
import { checkCertificate } from "../../../core/ssh/check-certificate.ts";
import { acceptSsh } from "../../../core/ssh/ssh-server.ts";
import { tunnelChannels } from "../../../core/transport/tunnel-message.ts";
import type { CurrentIdentity } from "../identity/current-identity.ts";
import type { AccessCache } from "../routing/access-cache.ts";

/* An agent's SSH connection: whose it is, and the channels that it may open. */

export interface AgentServices {
  readonly identity: CurrentIdentity;
  /** Algorithms offered to SSH clients; left out: the default. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly access: Pick<AccessCache, "current">;
  /** Passes a stream to the auth service's TLS listener. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Time limits of the SSH handshake, and then of hello, ms. */
export const handshakeMs = 10_000;

/** The agent's heartbeat reveals a dead peer, and one timer sweeps all tunnels. */
const noKeepalive = { intervalMs: 0, missed: 3 } as const;

/** The handshake. It drops the certificate at its end: objects with the tunnel's lifetime must not hold it. */
export async function acceptAgent(transport: Duplex, services: AgentServices): Promise<{ connection: Connection; identity: HostIdentity }> {
  const { sshKey, sshCertificate, cluster } = services.identity.current();
  const { connection, certificate } = await acceptSsh({
    stream: transport,
    hostKey: sshKey,
    hostCertificate: sshCertificate,
    algorithms: services.algorithms,
    handshakeTimeoutMs: handshakeMs,
    keepalive: noKeepalive,
    signal: services.signal,
    authenticate: async (attempt) => {
      const { hostCaSsh } = await services.access.current();
      authenticateAgent({ ...attempt, hostAuthorities: hostCaSsh, cluster, now: services.now() });
    },
  });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "host") throw new PlatformError("internal", "an agent was accepted without a host identity");
  return { connection, identity };
}

interface AgentAttempt {
  readonly username: string;
  readonly certificate: SshCertificate;
  /** OpenSSH public key lines of the host authority. */
  readonly hostAuthorities: readonly string[];
  readonly cluster: string;
  readonly now: Date;
}

/** The identity of an agent that opens a tunnel. Throws `unauthenticated` unless its certificate is of a node of this cluster, in its own name. */
function authenticateAgent({ username, certificate, hostAuthorities, cluster, now }: AgentAttempt): HostIdentity {
  checkCertificate(certificate, { type: "host", authorities: hostAuthorities, principal: username, now });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "host" || identity.role !== "node") {
    throw new PlatformError("unauthenticated", "only a host of role node may open a tunnel");
  }
  if (identity.id !== username) throw new PlatformError("unauthenticated", "a host may open a tunnel only in its own name");
  if (identity.cluster !== cluster) throw new PlatformError("unauthenticated", `the host belongs to cluster ${identity.cluster}, not to ${cluster}`);
  return identity;
}

export interface AgentChannelsOptions {
  readonly connection: Connection;
  readonly peer: string;
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** Time limit for opening the control channel. */
  readonly timeoutMs: number;
}

/** Maximum of simultaneous calls to the auth service of one agent. */
const maxAuthChannels = 16;

interface Agent {
  readonly peer: string;
  readonly relayAuth: AgentChannelsOptions["relayAuth"];
  authChannels: number;
  /** Pending until the control channel is open, or abandoned. */
  control: (PromiseWithResolvers<Duplex> & { readonly timer: NodeJS.Timeout }) | undefined;
}

/** All agents' connections share the listeners: there are thousands of idle ones. */
const agents = new WeakMap<Connection, Agent>();

/**
 * Accepts the channels that an agent may open, and refuses all others. Resolves to the control channel; rejects when it does not arrive in
 * time or the connection ends first.
 */
export function agentChannels({ connection, peer, relayAuth, timeoutMs }: AgentChannelsOptions): Promise<Duplex> {
  const timer = setTimeout(
    () => settle(connection)?.reject(new PlatformError("timeout", "the agent did not open its control channel in time")),
    timeoutMs,
  );
  const control = { timer, ...Promise.withResolvers<Duplex>() };
  agents.set(connection, { peer, relayAuth, authChannels: 0, control });
  connection.on("request", answerRequest).on("tcpip", answerChannel).on("close", onClose);
  return control.promise;
}

function settle(connection: Connection): PromiseWithResolvers<Duplex> | undefined {
  const agent = agents.get(connection);
  const control = agent?.control;
  if (agent !== undefined) agent.control = undefined;
  clearTimeout(control?.timer);
  return control;
}

function onClose(this: Connection): void {
  settle(this)?.reject(new PlatformError("unavailable", "the agent disconnected before opening its control channel"));
}

function answerRequest(accept: (() => void) | undefined, reject: (() => void) | undefined, name: string, info: TcpipBindInfo | SocketBindInfo): void {
  const wanted = name === "tcpip-forward" && "bindAddr" in info && info.bindAddr === tunnelChannels.stream;
  if (wanted) accept?.();
  else reject?.();
}

function answerChannel(this: Connection, accept: AcceptConnection<ServerChannel>, refuse: RejectConnection, { destIP }: TcpipRequestInfo): void {
  const control = destIP === tunnelChannels.control ? settle(this) : undefined;
  if (control !== undefined) {
    control.resolve(accept());
    return;
  }
  const agent = agents.get(this);
  if (agent === undefined || destIP !== tunnelChannels.auth || agent.authChannels >= maxAuthChannels) {
    refuse();
    return;
  }
  const channel: Duplex = accept();
  agent.authChannels += 1;
  channel.on("error", () => {});
  channel.once("close", () => {
    agent.authChannels -= 1;
  });
  agent.relayAuth(channel, agent.peer);
}
