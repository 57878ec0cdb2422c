import type { Duplex } from "node:stream";
import type { AuthClient, AuthClientOptions, AuthConnection } from "../core/api/auth-client.ts";
import type { HostCredentials } from "../core/api/host-credentials.ts";

export interface AuthSourceOptions {
  readonly credentials: () => HostCredentials;
  /** Opens a byte stream that ends at the auth service's TLS listener. */
  readonly open: () => Promise<Duplex>;
}

/** The auth service's API under the newest credentials; loaded and connected at the first call. */
export class AuthSource {
  readonly #options: AuthSourceOptions;
  readonly #listeners: (() => void)[] = [];
  #current: { credentials: HostCredentials; readonly connection: AuthConnection } | undefined;

  constructor(options: AuthSourceOptions) {
    this.#options = options;
  }

  async client(): Promise<AuthClient> {
    const { openAuthClient } = await import("../core/api/auth-client.ts");
    const credentials = this.#options.credentials();
    this.#current ??= { credentials, connection: openAuthClient(asHost(this.#options)) };
    const { connection } = this.#current;
    if (this.#current.credentials !== credentials) {
      this.#current.credentials = credentials;
      connection.renew();
      for (const listener of this.#listeners) listener();
    }
    return connection.client;
  }

  /** Called when further calls go over another connection, with newer credentials. A long call on the one before is cut soon, unless it moves. */
  onRenewed(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Further calls go over another connection; those on the present one, and on those before it, are cut soon. */
  renew(): void {
    this.#current?.connection.renew();
  }

  /** Closes the connection: the next call opens another one. */
  close(): void {
    this.#current?.connection.close();
  }
}

/** The credentials are read at each connection. */
function asHost({ open, credentials }: AuthSourceOptions): AuthClientOptions {
  return {
    open,
    get ca() {
      return credentials().hostCaPem;
    },
    get credentials() {
      const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = credentials();
      return { certificate, privateKey };
    },
  };
}
