import type { KeyObject } from "node:crypto";
import type { SecureContext } from "node:tls";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import type { TrustedKeys } from "../../../core/api/trusted-keys.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../../core/ssh/keys.ts";
import { appContext, databaseContext, hostContext, webContext } from "../../../core/transport/arrivals/server-tls.ts";

/** The proxy's own identity in the forms for its listeners. */
export interface ProxyIdentity {
  readonly hostId: string;
  readonly cluster: string;
  readonly sshKey: KeyObject;
  /** Certificate blob. */
  readonly sshCertificate: Buffer;
  /** For TLS that ends at the proxy: leaf and host authority. */
  readonly tls: SecureContext;
  /** The same certificate for browsers, if no other is configured. */
  readonly web: SecureContext;
  /** The same certificate for clients of databases, which trust the cluster's authority. */
  readonly databases: SecureContext;
  /** The same for clients of applications, which may present a certificate. */
  readonly apps: SecureContext;
  readonly credentials: HostCredentials;
}

/** Source of the proxy's identity: the auth service in this process, or credentials that it keeps itself. */
export interface HostCredentialsSource {
  current(): HostCredentials;
  /** The current authorities: a certificate signed by another key is renewed. */
  learn(keys: TrustedKeys): void;
  /** Called after each renewal. */
  onRenewed(listener: () => void): void;
}

/** The current identity: parsed once per renewal, so that later connections use the new certificates. */
export class CurrentIdentity {
  readonly #source: HostCredentialsSource;
  #identity: ProxyIdentity;

  constructor(source: HostCredentialsSource) {
    this.#source = source;
    this.#identity = prepare(source.current());
    source.onRenewed(() => {
      this.#identity = prepare(this.#source.current());
    });
  }

  current(): ProxyIdentity {
    return this.#identity;
  }
}

function prepare(credentials: HostCredentials): ProxyIdentity {
  const chain = [credentials.tlsCertificate, ...credentials.hostCaPem].map((pem) => pem.trim()).join("\n");
  return {
    hostId: credentials.hostId,
    cluster: credentials.cluster,
    sshKey: fromOpensshPrivate(credentials.sshPrivateKey),
    sshCertificate: parseCertificateLine(credentials.sshCertificate).blob,
    tls: hostContext(credentials),
    web: webContext({ cert: `${chain}\n`, key: credentials.tlsPrivateKey }),
    databases: databaseContext({ tlsCertificate: `${chain}\n`, tlsPrivateKey: credentials.tlsPrivateKey }),
    apps: appContext({ cert: `${chain}\n`, key: credentials.tlsPrivateKey, clientCa: credentials.userCaPem }),
    credentials,
  };
}
