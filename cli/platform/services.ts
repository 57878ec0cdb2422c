import type { PlatformConfig } from "../../core/config/platform-config.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload, WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";

/** What a control tells once it serves. */
export interface ControlFacts {
  /** Where its proxy listens; left out when only the auth service runs. */
  readonly webAddress?: HostPort | undefined;
  readonly caPins: readonly string[];
  /** A token for one agent in the same process. */
  createJoinToken(): Promise<string>;
}

/** A host by its id and the names that it goes by. */
export interface HostNames {
  readonly id: string;
  readonly names: readonly string[];
}

/** What a control that runs tells about itself. */
export interface ControlReport {
  state(): { readonly cluster: string; readonly tunnels: number; readonly sessions: number };
  /** Those of the proxy's web address. */
  certificates(): readonly WebCertificate[];
  /** Something that the cluster is told of this process has changed. */
  tellSoon(): void;
  /** Hosts that have a tunnel here. */
  hosts(): readonly HostNames[];
  /** They come here now, from the process that hands over to this one. */
  expect(hosts: readonly HostNames[]): void;
  /** In the text form of Prometheus. */
  metrics(): Promise<string>;
}

/** What an agent that runs tells about itself. */
export interface AgentReport {
  state(): { readonly hostId: string; readonly cluster: string; readonly tunnels: number; readonly sessions: number; readonly connected: boolean };
}

interface Deps {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Another process takes over: the service ends by itself once the last stream has ended. */
  readonly retire: AbortSignal;
}

interface ControlDeps extends Deps {
  /** Of the process that this one is to replace. */
  readonly certificatesInUse: readonly WebCertificate[];
  /** The last reload, when it failed. */
  readonly failedReload: () => FailedReload | undefined;
  readonly sockets: ListenSockets;
  readonly report: (control: ControlReport) => void;
  readonly ready: (facts: ControlFacts) => void;
}

interface AgentDeps extends Deps {
  readonly sockets: ListenSockets;
  readonly report: (agent: AgentReport) => void;
  /** Streams of people in earlier processes of this service. */
  readonly elsewhere: () => number;
  readonly local?: LocalControl | undefined;
}

/** What `platform start` runs. main.ts hands them in, so that a command line loads no server. Each ends when the signal aborts, or after `retire`. */
export interface Services {
  control(config: PlatformConfig, deps: ControlDeps, signal: AbortSignal): Promise<void>;
  agent(config: PlatformConfig, deps: AgentDeps, signal: AbortSignal): Promise<void>;
  /**
   * What the services that this configuration enables would refuse at their start: throws PlatformError. Returns what should be put right.
   * `inUse`: certificates of the process that runs.
   */
  check(config: PlatformConfig, inUse: readonly WebCertificate[]): Promise<readonly string[]>;
  /** What does the ciphers of SSH in the services that this configuration enables. */
  sshCrypto(config: PlatformConfig): Promise<"native" | "javascript">;
}

/** The control of the same process, for its agent to join. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  readonly token?: string | undefined;
}
