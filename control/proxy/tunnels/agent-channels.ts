import type { Duplex } from "node:stream";
import type { AcceptConnection, Connection, RejectConnection, ServerChannel, SocketBindInfo, TcpipBindInfo, TcpipRequestInfo } from "ssh2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { tunnelChannels } from "../../../core/transport/tunnel-message.ts";

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
