import { credentialsValidity, type HostCredentials } from "../../../core/api/host-credentials.ts";
import { isSignedByFirst, pickTrustedKeys, type TrustedKeys, trustedDigest } from "../../../core/api/trusted-keys.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import { wait } from "../routing/wait.ts";
import type { HostCredentialsSource } from "./current-identity.ts";

export interface RenewingOptions {
  readonly first: HostCredentials;
  /** Asks for the next ones. */
  readonly renew: (current: HostCredentials) => Promise<HostCredentials>;
  /** Stores credentials that know other authorities. */
  readonly keep?: (credentials: HostCredentials) => Promise<void>;
  readonly log: Log;
  readonly now: () => Date;
}

/** How often the validity is looked at, ms: a clock that jumps is noticed. */
const checkMs = 600_000;

/** Credentials that are renewed once half of their time is over. */
export class RenewingCredentials implements HostCredentialsSource {
  readonly #options: RenewingOptions;
  readonly #listeners: (() => void)[] = [];
  #current: HostCredentials;
  /** Ends the wait for the next look. */
  #wake = new AbortController();

  constructor(options: RenewingOptions) {
    this.#options = options;
    this.#current = options.first;
  }

  current(): HostCredentials {
    return this.#current;
  }

  onRenewed(listener: () => void): void {
    this.#listeners.push(listener);
  }

  learn(keys: TrustedKeys): void {
    if (trustedDigest(keys) === trustedDigest(this.#current)) return;
    const { log, keep } = this.#options;
    this.#current = { ...this.#current, ...pickTrustedKeys(keys) };
    log.info("the cluster's authorities are others now", { keys: keys.hostCaSsh.length + keys.userCaSsh.length });
    this.#tell();
    keep?.(this.#current).catch((error: unknown) => log.warn("the cluster's authorities could not be stored", { error: errorText(error) }));
    this.#wake.abort();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Until the signal. Never rejects: what fails is tried again with back-off. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, now } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      if (!isDue(this.#current, now())) {
        this.#wake = new AbortController();
        await wait(checkMs, AbortSignal.any([signal, this.#wake.signal]));
        continue;
      }
      try {
        this.#current = await this.#options.renew(this.#current);
        failures = 0;
        log.info("the proxy's certificates were renewed", { until: credentialsValidity(this.#current).to.toISOString() });
        this.#tell();
      } catch (error) {
        failures += 1;
        log.warn("the proxy's certificates could not be renewed", { error: errorText(error) });
        await wait(backOffDelay(failures, Math.random(), { capMs: checkMs }), signal);
      }
    }
  }
}

/** Whether half of the validity is over, or another key of the authority signs now. */
export function isDue(credentials: HostCredentials, now: Date): boolean {
  const { from, to } = credentialsValidity(credentials);
  return now.getTime() >= (from.getTime() + to.getTime()) / 2 || !isSignedByFirst(credentials);
}
