import { credentialsValidity, type HostCredentials } from "../../../core/api/host-credentials.ts";
import { isSignedByFirst, pickTrustedKeys, type TrustedKeys, trustedDigest } from "../../../core/api/trusted-keys.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import { wait } from "../wait.ts";
import type { HostCredentialsSource } from "./current-identity.ts";

export interface RenewingOptions {
  readonly first: HostCredentials;
  /** Requests the next credentials. */
  readonly renew: (current: HostCredentials) => Promise<HostCredentials>;
  /** Stores credentials with changed authorities. */
  readonly keep?: (credentials: HostCredentials) => Promise<void>;
  readonly log: Log;
  readonly now: () => Date;
}

/** Interval of checks of the validity, ms: a clock jump is noticed. */
const checkMs = 600_000;

/** Credentials that are renewed after half of their validity. */
export class RenewingCredentials implements HostCredentialsSource {
  readonly #options: RenewingOptions;
  readonly #listeners: (() => void)[] = [];
  #current: HostCredentials;
  /** Ends the wait for the next check. */
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
    log.info("cluster CA keys changed", { keys: keys.hostCaSsh.length + keys.userCaSsh.length });
    keep?.(this.#current).catch((error: unknown) => log.warn("could not store the cluster's authorities", { error: errorText(error) }));
    this.#tell();
    this.#wake.abort();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Runs until the signal. Never rejects: failures are retried with back-off. */
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
        log.warn("could not renew the proxy's certificates", { error: errorText(error) });
        await wait(backOffDelay(failures, Math.random(), { capMs: checkMs }), signal);
      }
    }
  }
}

/** Whether half of the validity is over, or the authority's signing key has changed. */
export function isDue(credentials: HostCredentials, now: Date): boolean {
  const { from, to } = credentialsValidity(credentials);
  return now.getTime() >= (from.getTime() + to.getTime()) / 2 || !isSignedByFirst(credentials);
}
