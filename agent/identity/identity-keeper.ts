import { setTimeout as sleep } from "node:timers/promises";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { credentialsValidity, type HostCredentials, renewHost } from "../../core/api/host-credentials.ts";
import { isSignedByFirst, pickTrustedKeys, type ReportedKeys, trustedDigest } from "../../core/api/trusted-keys.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { canonicalName, namesMeant } from "../../core/identity/cluster-names.ts";
import { fromSshCertificate } from "../../core/identity/ssh-identity.ts";
import type { Log } from "../../core/log/log.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { backOffDelay } from "../../core/transport/back-off.ts";
import type { IdentityStore } from "./identity-store.ts";

export interface IdentityOptions {
  readonly store: IdentityStore;
  readonly hostname: string;
  readonly names: readonly string[];
  readonly log: Log;
  /** Joins with the configured token; throws when it is refused or missing. */
  readonly join: () => Promise<HostCredentials>;
  /** The auth service under the current credentials. */
  readonly client: () => Promise<AuthClient>;
  readonly now?: () => number;
  readonly random?: () => number;
  /** Pause of a replaced process between two checks, ms. */
  readonly napMs?: number;
}

/** Longest sleep, ms: timers stand still while the machine sleeps, so the wall clock is checked after each. */
const longestNapMs = 60_000;
/** After a rotation, the hosts of a cluster ask for new certificates within this time, ms, unless the auth service states another. */
const rotatedSpreadMs = 15_000;

/** This host's identity: loaded or obtained by joining, kept on disk, renewed long before it expires. */
export class IdentityKeeper {
  readonly #options: IdentityOptions;
  #current: HostCredentials;
  /** When to renew, ms. */
  #due = Number.POSITIVE_INFINITY;
  /** This process renews, and writes the file. */
  #isKept = false;
  #storing: Promise<void> = Promise.resolve();
  /** Ends the sleep. */
  #wake = new AbortController();

  private constructor(options: IdentityOptions, current: HostCredentials) {
    this.#options = options;
    this.#current = current;
  }

  /** Throws PlatformError when there is no identity and it cannot obtain one. */
  static async open(options: IdentityOptions): Promise<IdentityKeeper> {
    const held = await options.store.load();
    if (held !== undefined && !isExpired(held, options)) return new IdentityKeeper(options, held);
    if (held !== undefined) options.log.warn("this host's identity has expired: joining again", { host: held.hostId });
    const keeper = new IdentityKeeper(options, await joinAnew(options, held));
    return keeper;
  }

  current(): HostCredentials {
    return this.#current;
  }

  /** Renews in time until aborted. Throws when the identity has expired and the host cannot join again. */
  async keep(signal: AbortSignal): Promise<void> {
    const { now = Date.now, random = Math.random } = this.#options;
    this.#due = this.#isOtherwiseNamed() ? 0 : nextRenewal(credentialsValidity(this.#current), random());
    let failures = 0;
    this.#isKept = true;
    signal.addEventListener(
      "abort",
      () => {
        this.#isKept = false;
      },
      { once: true },
    );
    this.#renewIfRotated();
    while (!signal.aborted) {
      const wait = this.#due - now();
      if (wait > 0) {
        this.#wake = new AbortController();
        const either = AbortSignal.any([signal, this.#wake.signal]);
        await sleep(Math.min(wait, longestNapMs), undefined, { signal: either }).catch(() => {});
        continue;
      }
      try {
        await this.#renew();
        failures = 0;
        this.#due = nextRenewal(credentialsValidity(this.#current), random());
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        await this.#rejoinIfExpired(thrown);
        this.#due = now() + backOffDelay(failures, random(), { baseMs: 2_000, capMs: 600_000 });
      }
    }
  }

  /**
   * For a process that another one has replaced: takes the newer credentials that that one has stored, once its own are due, until aborted. It renews and
   * writes nothing. Never rejects.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { store, log, napMs = longestNapMs } = this.#options;
    let failure = "";
    while (!signal.aborted) {
      try {
        if (this.#isDue()) this.#adopt(await store.peek());
        failure = "";
      } catch (thrown) {
        const error = errorText(thrown);
        if (error !== failure) log.warn("could not read the identity that this host's new process keeps", { error });
        failure = error;
      }
      await sleep(napMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Whether the process that renews may have renewed by now. */
  #isDue(): boolean {
    const { now = Date.now } = this.#options;
    return !isSignedByFirst(this.#current) || now() >= nextRenewal(credentialsValidity(this.#current), 0);
  }

  #adopt(stored: HostCredentials | undefined): void {
    const held = this.#current;
    if (stored?.hostId !== held.hostId || stored.tlsCertificate === held.tlsCertificate) return;
    const { from, to } = credentialsValidity(stored);
    if (from < credentialsValidity(held).from) return;
    // This process hears of the authorities itself, perhaps later than the file was written.
    this.#current = { ...stored, ...pickTrustedKeys(held) };
    this.#options.log.info("identity renewed by this host's new process", { until: to.toISOString() });
  }

  /** The cluster's authorities as they are now: stored, and a certificate that another key signed is renewed soon. */
  learn(keys: ReportedKeys): void {
    if (trustedDigest(keys) === trustedDigest(this.#current)) return;
    const { log } = this.#options;
    this.#current = { ...this.#current, ...pickTrustedKeys(keys) };
    log.info("cluster CA keys changed", { keys: keys.hostCaSsh.length + keys.userCaSsh.length });
    // A process that another one has replaced leaves the file to that one.
    if (!this.#isKept) return;
    this.#store(this.#current).catch((error: unknown) => log.warn("could not store the cluster CA keys", { error: errorText(error) }));
    this.#renewIfRotated(keys.renewalSpreadMs);
  }

  /** All hosts of a cluster learn of a rotation at the same moment: each waits for a random time. */
  #renewIfRotated(spreadMs = rotatedSpreadMs): void {
    if (isSignedByFirst(this.#current)) return;
    const { now = Date.now, random = Math.random } = this.#options;
    this.#due = Math.min(this.#due, now() + random() * spreadMs);
    this.#wake.abort();
  }

  /** One after the other: the last one wins. */
  #store(credentials: HostCredentials): Promise<void> {
    this.#storing = this.#storing.catch(() => {}).then(() => this.#options.store.save(credentials));
    return this.#storing;
  }

  async #renew(): Promise<void> {
    const { client, hostname, names, log } = this.#options;
    const refused = (why: string): void => log.warn("this host's certificate lacks a name from its configuration", { why });
    const renewed = await renewHost(await client(), { credentials: this.#current, hostname, names, refused });
    await this.#store(renewed);
    this.#current = renewed;
    log.info("identity renewed", { until: credentialsValidity(renewed).to.toISOString() });
  }

  async #rejoinIfExpired(thrown: unknown): Promise<void> {
    const { log } = this.#options;
    log.warn("could not renew the identity yet", { error: errorText(thrown), until: credentialsValidity(this.#current).to.toISOString() });
    if (isExpired(this.#current, this.#options)) this.#current = await joinAnew(this.#options, this.#current);
  }

  /** Whether the configuration and the certificate name this host differently. */
  #isOtherwiseNamed(): boolean {
    const identity = fromSshCertificate(parseCertificateLine(this.#current.sshCertificate));
    const has = new Set(identity.kind === "host" ? identity.names.map(canonicalName) : []);
    const own = this.#options.hostname;
    // The certificate has a host name below the cluster's without the cluster's suffix.
    const short = identity.kind === "host" ? (namesMeant(own, identity.cluster).at(-1) ?? own) : own;
    const wanted = new Set([short, ...this.#options.names.filter((name) => name !== own).map(canonicalName)]);
    return has.size !== wanted.size || [...wanted].some((name) => !has.has(name));
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
    throw new PlatformError(thrown.code, `this host's identity expired at ${until}, and it could not join again: ${thrown.message}`, {
      hint: thrown.hint ?? "set a new join token as platform.auth_token",
      cause: thrown,
    });
  }
  await options.store.save(joined);
  options.log.info("joined the cluster", { host: joined.hostId, cluster: joined.cluster });
  return joined;
}

/** Pure: when to renew credentials, as Unix time in ms: after a third of their life, spread by `random` in [0, 1) over a tenth of it. */
export function nextRenewal(validity: { readonly from: Date; readonly to: Date }, random: number): number {
  const from = validity.from.getTime();
  const life = Math.max(0, validity.to.getTime() - from);
  return from + life * (0.3 + random * 0.1);
}
