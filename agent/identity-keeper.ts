import { setTimeout as sleep } from "node:timers/promises";
import type { AuthClient } from "../core/api/auth-client.ts";
import { loadCredentials, saveCredentials } from "../core/api/credential-store.ts";
import { credentialsValidity, type HostCredentials, renewHost } from "../core/api/host-credentials.ts";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import { parseCertificateLine } from "../core/ssh/certificate.ts";
import { backOffDelay } from "../core/transport/back-off.ts";
import { nextRenewal } from "./next-renewal.ts";

export interface IdentityOptions {
  readonly file: string;
  readonly hostname: string;
  readonly names: readonly string[];
  readonly log: Log;
  /** Joins with the configured token; throws when it is refused or missing. */
  readonly join: () => Promise<HostCredentials>;
  /** The auth service under the credentials at hand. */
  readonly client: () => Promise<AuthClient>;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** Longest sleep, ms: timers stand still while the machine sleeps, the wall clock is asked after each. */
const longestNapMs = 60_000;

/** This host's identity: loaded or joined for, kept on disk, renewed long before its end. */
export class IdentityKeeper {
  readonly #options: IdentityOptions;
  #current: HostCredentials;

  private constructor(options: IdentityOptions, current: HostCredentials) {
    this.#options = options;
    this.#current = current;
  }

  /** Throws PlatformError when there is no identity and none to be had. */
  static async open(options: IdentityOptions): Promise<IdentityKeeper> {
    const held = await loadCredentials(options.file);
    if (held !== undefined && !isExpired(held, options)) return new IdentityKeeper(options, held);
    if (held !== undefined) options.log.warn("this host's identity has expired: joining anew", { host: held.hostId });
    const keeper = new IdentityKeeper(options, await joinAnew(options, held));
    return keeper;
  }

  current(): HostCredentials {
    return this.#current;
  }

  /** Renews in time until aborted. Throws when the identity has expired and the host cannot join anew. */
  async keep(signal: AbortSignal): Promise<void> {
    const { now = Date.now, random = Math.random } = this.#options;
    let due = this.#lacksNames() ? 0 : nextRenewal(credentialsValidity(this.#current), random());
    let failures = 0;
    while (!signal.aborted) {
      const wait = due - now();
      if (wait > 0) {
        await sleep(Math.min(wait, longestNapMs), undefined, { signal }).catch(() => {});
        continue;
      }
      try {
        await this.#renew();
        failures = 0;
        due = nextRenewal(credentialsValidity(this.#current), random());
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        await this.#rejoinIfExpired(thrown);
        due = now() + backOffDelay(failures, random(), { baseMs: 2_000, capMs: 600_000 });
      }
    }
  }

  async #renew(): Promise<void> {
    const { client, hostname, names, file, log } = this.#options;
    const renewed = await renewHost(await client(), { credentials: this.#current, hostname, names });
    await saveCredentials(file, renewed);
    this.#current = renewed;
    log.info("identity renewed", { until: credentialsValidity(renewed).to.toISOString() });
  }

  async #rejoinIfExpired(thrown: unknown): Promise<void> {
    const { log } = this.#options;
    log.warn("the identity could not be renewed yet", { error: errorText(thrown), until: credentialsValidity(this.#current).to.toISOString() });
    if (isExpired(this.#current, this.#options)) this.#current = await joinAnew(this.#options, this.#current);
  }

  /** The configuration names this host in another way than its certificate does. */
  #lacksNames(): boolean {
    const { principals } = parseCertificateLine(this.#current.sshCertificate);
    return this.#options.names.some((name) => !principals.includes(name));
  }
}

function isExpired(credentials: HostCredentials, { now = Date.now }: IdentityOptions): boolean {
  return now() >= credentialsValidity(credentials).to.getTime();
}

async function joinAnew(options: IdentityOptions, expired: HostCredentials | undefined): Promise<HostCredentials> {
  let joined: HostCredentials;
  try {
    joined = await options.join();
  } catch (thrown) {
    if (expired === undefined || !(thrown instanceof PlatformError)) throw thrown;
    const until = credentialsValidity(expired).to.toISOString();
    throw new PlatformError(thrown.code, `this host's identity expired at ${until}, and it cannot join anew: ${thrown.message}`, {
      hint: thrown.hint ?? "set a new join token as platform.auth_token",
      cause: thrown,
    });
  }
  await saveCredentials(options.file, joined);
  options.log.info("joined the cluster", { host: joined.hostId, cluster: joined.cluster });
  return joined;
}
