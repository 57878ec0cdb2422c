import { createHash, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContext } from "node:tls";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

interface Loaded {
  readonly leaf: X509Certificate;
  readonly context: SecureContext;
  /** Of both files: tells whether they changed. */
  readonly digest: string;
}

/** How often the files are looked at again, ms: a renewed certificate is served without a restart. */
const checkMs = 60_000;

/** The configured https_keypairs. The first is for clients that name no host, or one that no certificate lists. */
export class WebCertificates {
  readonly #files: readonly KeyPairFiles[];
  readonly #log: Log;
  #loaded: readonly Loaded[] = [];

  constructor(files: readonly KeyPairFiles[], log: Log) {
    this.#files = files;
    this.#log = log;
  }

  /** Reads all pairs, then again every minute until the signal. Throws PlatformError for a pair that cannot be used. */
  async open(signal: AbortSignal): Promise<void> {
    this.#loaded = await Promise.all(this.#files.map(load));
    if (this.#files.length === 0) return;
    const timer = setInterval(() => void this.#reload(), checkMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Undefined without any configured pair. */
  choose(servername: string | undefined): SecureContext | undefined {
    const named = servername === undefined ? undefined : this.#loaded.find(({ leaf }) => leaf.checkHost(servername) !== undefined);
    return (named ?? this.#loaded[0])?.context;
  }

  /** A pair that is unreadable just now (a renewal in progress) leaves the one before in use. */
  async #reload(): Promise<void> {
    const before = this.#loaded;
    try {
      const after = await Promise.all(this.#files.map(load));
      if (after.every(({ digest }, index) => digest === before[index]?.digest)) return;
      this.#loaded = after;
      this.#log.info("https_keypairs loaded anew");
    } catch (error) {
      this.#log.warn("https_keypairs cannot be loaded; the ones before stay in use", { error: errorText(error) });
    }
  }
}

async function load({ certFile, keyFile }: KeyPairFiles): Promise<Loaded> {
  const read = async (file: string): Promise<Buffer> => {
    try {
      return await readFile(file);
    } catch (cause) {
      throw new PlatformError("invalid", `https_keypairs: cannot read ${file}: ${errorText(cause)}`, { cause });
    }
  };
  const [cert, key] = [await read(certFile), await read(keyFile)];
  try {
    const context = createSecureContext({ cert, key, minVersion: "TLSv1.2" });
    return { leaf: new X509Certificate(cert), context, digest: createHash("sha256").update(cert).update(key).digest("hex") };
  } catch (cause) {
    throw new PlatformError("invalid", `https_keypairs: ${certFile} and ${keyFile} are no certificate and its key`, {
      cause,
      hint: "both are PEM files; the certificate's file holds the chain, leaf first",
    });
  }
}
