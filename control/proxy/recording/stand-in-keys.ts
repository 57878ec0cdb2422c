import type { AuthClient } from "../../../core/api/auth-client.ts";
import { parseCertificateLine, type SshCertificate } from "../../../core/ssh/certificate.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";

/** Maximum number of cached certificates; the least recently requested one is dropped first. */
const mostKept = 1_000;
/** Time before its expiry when a certificate is no longer used, ms. */
const spareMs = 600_000;

/** Keys with which this proxy acts as a host: one key, and a certificate of it for each host. */
export class StandInKeys {
  readonly #options: { readonly auth: Pick<AuthClient, "signRelayedHost">; readonly now: () => Date };
  readonly #own = generateSshKey();
  readonly #kept = new Map<string, Promise<SshCertificate>>();

  constructor(options: { readonly auth: Pick<AuthClient, "signRelayedHost">; readonly now: () => Date }) {
    this.#options = options;
  }

  /** `authority`: the key that signs host certificates now: a certificate of another key is requested again. Throws the auth service's refusal. */
  async of(host: string, authority: string) {
    const name = `${authority} ${host}`;
    let certificate = this.#kept.get(name);
    if (certificate !== undefined && (await this.#isOld(certificate))) certificate = undefined;
    certificate ??= this.#ask(host);
    this.#kept.delete(name);
    this.#kept.set(name, certificate);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return { hostKey: this.#own.privateKey, hostCertificate: (await certificate).blob };
    } catch (thrown) {
      this.#kept.delete(name);
      throw thrown;
    }
  }

  async #isOld(certificate: Promise<SshCertificate>): Promise<boolean> {
    const known = await certificate.catch(() => undefined);
    return known === undefined || known.validBefore.getTime() - spareMs <= this.#options.now().getTime();
  }

  async #ask(host: string): Promise<SshCertificate> {
    const { sshCertificate } = await this.#options.auth.signRelayedHost({ host, sshPublicKey: this.#own.publicLine });
    return parseCertificateLine(sshCertificate);
  }
}
