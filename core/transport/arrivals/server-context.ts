import { constants } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/*
 * Settings of all our TLS servers. No other place makes a server's context (test/architecture/layers.test.ts).
 */

/** A client's renegotiation in TLS 1.2 costs the server a handshake each time, and has no use. */
const always = constants.SSL_OP_NO_RENEGOTIATION;
/** TLS 1.3 as Node has it; of TLS 1.2 only forward secrecy and AEAD. */
const suites = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/**
 * For TLS between programs of ours, by a host's own certificate. Our own clients keep their connections: a ticket would cost memory, and let a
 * client present its certificate once for many.
 */
export function hostContext({ tlsCertificate: cert, tlsPrivateKey: key }: { tlsCertificate: string; tlsPrivateKey: string }): SecureContext {
  return createSecureContext({ cert, key, minVersion: "TLSv1.3", ciphers: suites, secureOptions: always | constants.SSL_OP_NO_TICKET });
}

/** For browsers and other people's tools: PEM, the leaf first. Throws OpenSSL's error. */
export function webContext({ cert, key }: { cert: string | Buffer; key: string | Buffer }): SecureContext {
  return createSecureContext({ cert, key, minVersion: "TLSv1.2", ciphers: suites, secureOptions: always });
}
