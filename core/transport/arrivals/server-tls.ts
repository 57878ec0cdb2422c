import { constants } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket, type TLSSocketOptions } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { feedInPieces } from "../../node-internals/feed-in-pieces.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { makeTls } from "../../node-internals/make-tls.ts";

export interface TerminateTlsOptions {
  readonly context: SecureContext;
  /** The protocol that is answered when the client offers it; of several the first that it offers. */
  readonly alpn: string | readonly string[];
  /** Requests a certificate. It is not checked here but by the caller, so that a refusal can carry a reason. */
  readonly requestCertificate?: boolean;
  readonly timeoutMs?: number;
}

/** A handshake under way, and how it ends. Its listeners are shared by all connections and stay: an idle one holds nothing of it. */
interface Handshake {
  readonly socket: Duplex;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (tls: TLSSocket) => void;
  readonly reject: (error: PlatformError) => void;
}

const handshakes = new WeakMap<TLSSocket, Handshake>();
const usualMs = 10_000;

/** The server side of a TLS handshake on an accepted socket, or on a stream inside another connection. Throws `unavailable` or `timeout`, and destroys the socket then. */
export function terminateTls(
  socket: Duplex,
  { context, alpn, requestCertificate = false, timeoutMs = usualMs }: TerminateTlsOptions,
): Promise<TLSSocket> {
  feedInPieces(socket);
  const options: TLSSocketOptions = {
    isServer: true,
    secureContext: context,
    ALPNCallback: only(alpn),
    requestCert: requestCertificate,
    rejectUnauthorized: false,
  };
  // Records of one byte, while nobody reads.
  const tls = gatherPieces(makeTls(socket, () => new TLSSocket(socket as Socket, options)));
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const timer = setTimeout(() => fail(tls, new PlatformError("timeout", "the TLS handshake took too long")), timeoutMs);
  handshakes.set(tls, { socket, timer, resolve, reject });
  tls.on("secure", onSecure).on("end", onEnd).on("close", onClose).on("error", onError);
  return promise;
}

type AlpnCallback = NonNullable<TLSSocketOptions["ALPNCallback"]>;

/** By the names that they answer: our own few. */
const alpnCallbacks = new Map<string, AlpnCallback>();

/** As ALPNProtocols does, whose list would be copied for each connection and kept, in memory shared by many buffers. */
function only(names: string | readonly string[]): AlpnCallback {
  const key = String(names);
  const known = alpnCallbacks.get(key);
  if (known !== undefined) return known;
  const wanted = typeof names === "string" ? [names] : names;
  const made: AlpnCallback = ({ protocols }) => wanted.find((name) => protocols.includes(name));
  alpnCallbacks.set(key, made);
  return made;
}

function settle(tls: TLSSocket): Handshake | undefined {
  const handshake = handshakes.get(tls);
  handshakes.delete(tls);
  clearTimeout(handshake?.timer);
  return handshake;
}

function fail(tls: TLSSocket, error: PlatformError): void {
  const handshake = settle(tls);
  if (handshake === undefined) return;
  tls.destroy();
  handshake.socket.destroy();
  handshake.reject(error);
}

function onSecure(this: TLSSocket): void {
  const handshake = settle(this);
  if (handshake === undefined) return;
  this.off("end", onEnd);
  // Node waits there for a connection that was made long ago. `removeAllListeners` would delete a property: V8 keeps the others in a dictionary then, 0.4 KiB.
  for (const listener of handshake.socket.listeners("connect")) handshake.socket.off("connect", listener as () => void);
  handshake.resolve(this);
}

/** Only one direction may have ended: an HTTP proxy on the way keeps the other one open. */
function onEnd(this: TLSSocket): void {
  fail(this, new PlatformError("unavailable", "the client ended the connection during the TLS handshake: it may not trust the certificate"));
}

function onClose(this: TLSSocket): void {
  fail(this, new PlatformError("unavailable", "the connection ended during the TLS handshake"));
}

/** Later errors are reported by the end that follows them. */
function onError(this: TLSSocket, cause: Error): void {
  fail(this, new PlatformError("unavailable", `the TLS handshake failed: ${cause.message}`, { cause }));
}

// Settings of all our TLS servers. No other place makes a server's context (test/architecture/layers.test.ts).

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

/**
 * For stock clients of databases, which present a certificate each time: with a ticket a client could come back without one. As `hostContext`, with
 * TLS 1.2 for older clients.
 */
export function databaseContext({ tlsCertificate: cert, tlsPrivateKey: key }: { tlsCertificate: string; tlsPrivateKey: string }): SecureContext {
  return createSecureContext({ cert, key, minVersion: "TLSv1.2", ciphers: suites, secureOptions: always | constants.SSL_OP_NO_TICKET });
}

/**
 * For clients of applications, which may present a certificate of the authorities `clientCa` (PEM): a browser shows none of its others, and does not ask
 * its user. As `databaseContext`.
 */
export function appContext({ cert, key, clientCa }: { cert: string | Buffer; key: string | Buffer; clientCa: readonly string[] }): SecureContext {
  const secureOptions = always | constants.SSL_OP_NO_TICKET;
  return createSecureContext({ cert, key, ca: [...clientCa], minVersion: "TLSv1.2", ciphers: suites, secureOptions });
}
