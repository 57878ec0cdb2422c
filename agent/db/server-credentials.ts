import { createHash, generateKeyPairSync } from "node:crypto";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { ServiceDeps } from "../service/service.ts";
import { askAgain } from "./ask-again.ts";
import type { ServerCredentials, ServerCredentialsAsk } from "./database.ts";

type Issue = (ask: ServerCredentialsAsk) => Promise<ServerCredentials>;

/** Credentials for the sessions of the service, until the signal. */
export function openCredentials({ auth, access }: Pick<ServiceDeps, "auth" | "access">, signal: AbortSignal): Issue {
  const kept = new KeptCredentials(async (ask) => await askAgain(async () => await issueCredentials(await auth(), ask), signal));
  const clear = (): void => kept.clear();
  access.follow(clear, signal);
  signal.addEventListener("abort", clear, { once: true });
  return async (ask) => await kept.get(ask);
}

/** A new key, which never leaves this process, and a certificate for it. Throws PlatformError. */
export async function issueCredentials(auth: Pick<AuthClient, "signDatabaseClient">, ask: ServerCredentialsAsk): Promise<ServerCredentials> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const tlsPublicKey = publicKey.export({ type: "spki", format: "pem" }).toString();
  const { database, account, certificate: userCertificate, proof, clientAddress, asAdmin = false } = ask;
  const answer = await auth.signDatabaseClient({ database, account, tlsPublicKey, userCertificate, proof, clientAddress, asAdmin });
  return {
    certificate: answer.tlsCertificate,
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    authorities: answer.dbCaPem,
  };
}

/** Time for which a certificate is used again, ms: a pool of connections costs one signature. */
const usualKeepMs = 60_000;
/** Maximum number of certificates that are kept; the oldest one is dropped first. */
const usualMost = 1_000;

interface Kept {
  readonly credentials: Promise<ServerCredentials>;
  readonly timer: NodeJS.Timeout;
}

/** Credentials for a moment: for the same certificate of a user at the same address, the same database and the same account. */
export class KeptCredentials {
  readonly #issue: Issue;
  readonly #keepMs: number;
  readonly #most: number;
  readonly #kept = new Map<string, Kept>();

  constructor(issue: Issue, { keepMs = usualKeepMs, most = usualMost }: { readonly keepMs?: number; readonly most?: number } = {}) {
    this.#issue = issue;
    this.#keepMs = keepMs;
    this.#most = most;
  }

  /** Throws as issuing does; a failure is not kept. */
  async get(ask: ServerCredentialsAsk): Promise<ServerCredentials> {
    const key = keyOf(ask);
    const known = this.#kept.get(key);
    if (known !== undefined) return await known.credentials;
    const credentials = this.#issue(ask);
    const one: Kept = { credentials, timer: setTimeout(() => this.#drop(key, one), this.#keepMs).unref() };
    this.#kept.set(key, one);
    for (const [oldest, first] of this.#kept) {
      if (this.#kept.size <= this.#most) break;
      this.#drop(oldest, first);
    }
    try {
      return await credentials;
    } catch (thrown) {
      this.#drop(key, one);
      throw thrown;
    }
  }

  /** Drops everything: rules or locks have changed. What is being issued now is not kept either. */
  clear(): void {
    for (const [key, one] of this.#kept) this.#drop(key, one);
  }

  #drop(key: string, one: Kept): void {
    clearTimeout(one.timer);
    if (this.#kept.get(key) === one) this.#kept.delete(key);
  }
}

function keyOf({ certificate, database, account, clientAddress, asAdmin = false }: ServerCredentialsAsk): string {
  const user = createHash("sha256").update(certificate).digest("hex");
  return JSON.stringify([user, database, account, ipOf(clientAddress), asAdmin]);
}
