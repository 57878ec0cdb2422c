import type { Duplex } from "node:stream";
import type { AuthClient, AuthConnection } from "../core/api/auth-client.ts";
import type { HostCredentials } from "../core/api/host-credentials.ts";

/** Longer than any call, ms. */
const callMs = 20_000;

export interface AuthSourceOptions {
  readonly credentials: () => HostCredentials;
  /** Opens a byte stream that ends at the auth service's TLS listener. */
  readonly open: () => Promise<Duplex>;
}

/** The auth service's API under the newest credentials; loaded and connected at the first call. */
export class AuthSource {
  readonly #options: AuthSourceOptions;
  #current: { readonly credentials: HostCredentials; readonly connection: AuthConnection } | undefined;

  constructor(options: AuthSourceOptions) {
    this.#options = options;
  }

  async client(): Promise<AuthClient> {
    const { openAuthClient } = await import("../core/api/auth-client.ts");
    const credentials = this.#options.credentials();
    if (this.#current?.credentials !== credentials) {
      this.#retire();
      const { hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = credentials;
      const connection = openAuthClient({ open: this.#options.open, ca, credentials: { certificate, privateKey } });
      this.#current = { credentials, connection };
    }
    return this.#current.connection.client;
  }

  /** Time for calls under way on the previous connection to finish. */
  #retire(): void {
    const before = this.#current?.connection;
    if (before !== undefined) setTimeout(() => before.close(), callMs).unref();
    this.#current = undefined;
  }

  /** Closes the connection: the next call opens another one. */
  close(): void {
    this.#current?.connection.close();
    this.#current = undefined;
  }
}
