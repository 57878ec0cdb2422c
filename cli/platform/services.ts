import type { PlatformConfig } from "../../core/config/platform-config.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload, WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";

/** A control's facts once it serves. */
export interface ControlFacts {
  /** Listening address of its proxy; left out when only the auth service runs. */
  readonly webAddress?: HostPort | undefined;
  readonly caPins: readonly string[];
  /** A token for one agent in the same process. */
  createJoinToken(): Promise<string>;
}

/** A host, with its id and its names. */
export interface HostNames {
  readonly id: string;
  readonly names: readonly string[];
}

/** A running control's report about itself. */
export interface ControlReport {
  state(): { readonly cluster: string; readonly tunnels: number; readonly sessions: number };
  /** Certificates of the proxy's web address. */
  certificates(): readonly WebCertificate[];
  /** A fact about this process that the cluster is notified of has changed. */
  tellSoon(): void;
  /** Hosts with a tunnel here. */
  hosts(): readonly HostNames[];
  /** Hosts that are about to move here from the process that hands over to this one. */
  expect(hosts: readonly HostNames[]): void;
  /** Metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
}

/** A running agent's report about itself. */
export interface AgentReport {
  state(): {
    readonly hostId: string;
    readonly cluster: string;
    readonly tunnels: number;
    readonly sessions: number;
    readonly connected: boolean;
    /** Why it is not connected, as far as it knows. */
    readonly problem?: PlatformError | undefined;
  };
}

interface Deps {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Another process takes over: the service ends by itself once the last stream has ended. */
  readonly retire: AbortSignal;
}

interface ControlDeps extends Deps {
  /** State of the process that this one replaces. */
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
  /** Streams of users in earlier processes of this service. */
  readonly elsewhere: () => number;
  readonly local?: LocalControl | undefined;
}

/** What `platform start` runs. main.ts passes them in, so that a command loads no server. Each ends when the signal aborts, or after `retire`. */
export interface Services {
  control(config: PlatformConfig, deps: ControlDeps, signal: AbortSignal): Promise<void>;
  agent(config: PlatformConfig, deps: AgentDeps, signal: AbortSignal): Promise<void>;
  /**
   * Throws PlatformError for anything that the enabled services would refuse at their start. Returns warnings.
   * `inUse`: certificates of the running process.
   */
  check(config: PlatformConfig, inUse: readonly WebCertificate[]): Promise<readonly string[]>;
  /** Checks the databases of the configuration once; `authorities` are those of their servers, PEM. Never throws. */
  checkDatabases(config: PlatformConfig, authorities: readonly string[]): Promise<readonly { readonly name: string; readonly fault?: string }[]>;
  /** Implementation of the SSH ciphers in the enabled services. */
  sshCrypto(config: PlatformConfig): Promise<"native" | "javascript">;
}

/** The control of the same process, for its agent to join. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  readonly token?: string | undefined;
}
