import type { SecureContext } from "node:tls";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { expiryWarning, type WebCertificate } from "../../../core/resources/proxy-facts.ts";
import { judgeCertificate, type KeyPair, type KeyPairFiles, loadPair, namesOf, openPair, renewHint, usedFor, validity } from "./key-pair.ts";

export interface WebCertificatesDeps {
  readonly log: Log;
  readonly now: () => Date;
  /** Certificates of the process that this one replaces. */
  readonly inUse?: readonly WebCertificate[] | undefined;
  /** Interval at which the files are read again, ms. */
  readonly checkMs?: number | undefined;
}

interface Pair {
  readonly files: KeyPairFiles;
  loaded: KeyPair;
  /** Why the files are not used, if so. */
  fault: string;
  /** The fault already existed at the previous reading. */
  isLasting: boolean;
  /** Time of the last log of its expiry, ms. */
  warnedAt: number;
}

/** A renewed certificate is served within seconds, without a reload. Renewal programs replace links, which file watches do not follow. */
const checkMs = 5_000;
const warnEveryMs = 24 * 3_600_000;

/** The configured https_keypairs. The first is for clients without a server name, or with one that no certificate lists. */
export class WebCertificates {
  readonly #files: readonly KeyPairFiles[];
  readonly #deps: WebCertificatesDeps;
  readonly #onChange: (() => void)[] = [];
  #pairs: readonly Pair[] = [];

  constructor(files: readonly KeyPairFiles[], deps: WebCertificatesDeps) {
    this.#files = files;
    this.#deps = deps;
  }

  /** Reads all pairs, then again every few seconds until the signal. Throws PlatformError for a pair that cannot be used. */
  async open(signal: AbortSignal): Promise<void> {
    const { inUse = [], now } = this.#deps;
    this.#pairs = await Promise.all(
      this.#files.map(async (files, index) => {
        const loaded = await openPair(files, usedFor({ files: this.#files, index, inUse }), now());
        return { files, loaded, fault: "", isLasting: false, warnedAt: Number.NEGATIVE_INFINITY };
      }),
    );
    if (this.#pairs.length === 0) return;
    this.#warn();
    const timer = setInterval(() => void this.#look(), this.#deps.checkMs ?? checkMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Undefined without a configured pair. */
  choose(servername: string | undefined): SecureContext | undefined {
    return this.#pairOf(servername)?.loaded.context;
  }

  /** The same for the name of an application, whose clients may present a certificate of these authorities (PEM). */
  chooseForApp(servername: string, clientCa: readonly string[]): SecureContext | undefined {
    return this.#pairOf(servername)?.loaded.forApps(clientCa);
  }

  #pairOf(servername: string | undefined): Pair | undefined {
    const named = servername === undefined ? undefined : this.#pairs.find(({ loaded }) => loaded.leaf.checkHost(servername) !== undefined);
    return named ?? this.#pairs[0];
  }

  /** Called when a certificate is replaced. */
  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  /** Certificates in use. */
  facts(): readonly WebCertificate[] {
    return this.#pairs.map(({ files, loaded }) => ({
      file: files.certFile,
      names: namesOf(loaded.leaf),
      from: loaded.leaf.validFromDate.toISOString(),
      until: loaded.leaf.validToDate.toISOString(),
    }));
  }

  async #look(): Promise<void> {
    const looked = await Promise.all(this.#pairs.map((pair) => this.#reload(pair)));
    if (looked.includes(true)) for (const listener of this.#onChange) listener();
    this.#warn();
  }

  /** True: the certificate was replaced. An unusable pair leaves the previous one in use. */
  async #reload(pair: Pair): Promise<boolean> {
    const { log, now } = this.#deps;
    try {
      const after = await loadPair(pair.files);
      const isNew = after.digest !== pair.loaded.digest;
      const refusal = isNew ? judgeCertificate(validity(after), validity(pair.loaded), now()) : undefined;
      this.#note(pair, refusal ?? "");
      if (!isNew || refusal !== undefined) return false;
      pair.loaded = after;
      pair.warnedAt = Number.NEGATIVE_INFINITY;
      log.info("a renewed web certificate is in use", { file: pair.files.certFile, until: after.leaf.validToDate.toISOString() });
      return true;
    } catch (error) {
      this.#note(pair, errorText(error));
      return false;
    }
  }

  /** Logged once, if it persists: a renewal writes one file after the other. */
  #note(pair: Pair, fault: string): void {
    const isLasting = fault !== "" && fault === pair.fault;
    if (isLasting && !pair.isLasting) {
      this.#deps.log.warn("the web certificate on the disk is not usable; the previous one stays in use", {
        file: pair.files.certFile,
        reason: fault,
        until: pair.loaded.leaf.validToDate.toISOString(),
      });
    }
    pair.fault = fault;
    pair.isLasting = isLasting;
  }

  /** Once a day, starting three weeks before. */
  #warn(): void {
    const { log, now } = this.#deps;
    for (const pair of this.#pairs) {
      const { until } = validity(pair.loaded);
      const warning = expiryWarning(validity(pair.loaded), now());
      if (warning === undefined || now().getTime() - pair.warnedAt < warnEveryMs) continue;
      pair.warnedAt = now().getTime();
      log.warn(`the web certificate ${warning}`, { file: pair.files.certFile, until: until.toISOString(), hint: renewHint });
    }
  }
}

/** Metrics of the proxy, in the text format of Prometheus. */
export async function proxyMetrics(certificates: readonly WebCertificate[]): Promise<string> {
  if (certificates.length === 0) return "";
  const { Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const expiry = new Gauge({
    name: "platform_web_certificate_expiry_seconds",
    help: "Expiry of the web certificate in use, Unix time",
    labelNames: ["file"],
    registers: [registry],
  });
  for (const { file, until } of certificates) expiry.set({ file }, Date.parse(until) / 1000);
  return await registry.metrics();
}
