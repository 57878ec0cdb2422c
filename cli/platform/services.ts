import type { PlatformConfig } from "../../core/config/platform-config.ts";
import type { Log } from "../../core/log/log.ts";
import type { HostPort } from "../../core/transport/host-port.ts";

/** What a control tells once it serves. */
export interface ControlFacts {
  /** Where its proxy listens; left out when only the auth service runs. */
  readonly webAddress?: HostPort | undefined;
  readonly caPins: readonly string[];
  /** A token for one agent in the same process. */
  createJoinToken(): Promise<string>;
}

interface Deps {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What `platform start` runs. main.ts hands them in, so that a command line loads no server. Each ends when the signal aborts. */
export interface Services {
  control(config: PlatformConfig, deps: Deps & { ready: (facts: ControlFacts) => void }, signal: AbortSignal): Promise<void>;
  agent(config: PlatformConfig, deps: Deps & { local?: LocalControl | undefined }, signal: AbortSignal): Promise<void>;
  /** What does the ciphers of SSH in the services that this configuration enables. */
  sshCrypto(config: PlatformConfig): Promise<"native" | "javascript">;
}

/** The control of the same process, for its agent to join. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  readonly token?: string | undefined;
}
