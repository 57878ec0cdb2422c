import { constants } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/** Our own clients keep their connections: a ticket would cost memory, and let a client show its certificate once for many. */
const noTickets = { secureOptions: constants.SSL_OP_NO_TICKET } as const;

/** For TLS between programs of ours, by a host's own certificate. */
export function hostContext({ tlsCertificate: cert, tlsPrivateKey: key }: { tlsCertificate: string; tlsPrivateKey: string }): SecureContext {
  return createSecureContext({ cert, key, minVersion: "TLSv1.3", ...noTickets });
}
