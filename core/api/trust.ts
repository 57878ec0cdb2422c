import { createHash, X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { connect as connectTls, type DetailedPeerCertificate } from "node:tls";
import { PlatformError } from "../errors/platform-error.ts";
import { alpn, authServerName, roleServerName } from "../transport/alpn.ts";

/** `sha256:<hex>` over the DER SubjectPublicKeyInfo of an authority's certificate (PEM or DER): the CA pin. */
export function caPin(certificate: string | Buffer): string {
  const spki = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

/** Throws `invalid` for anything but a pin. */
export function parseCaPin(text: string): string {
  const pin = text.trim().toLowerCase();
  if (!/^sha256:[0-9a-f]{64}$/.test(pin)) {
    throw new PlatformError("invalid", `${JSON.stringify(text)} is not a CA pin`, {
      hint: "a pin is sha256: and 64 hex digits; `tctl status` prints it",
    });
  }
  return pin;
}

export interface PinnedTrustOptions {
  /** Opens a byte stream that ends at the auth service's TLS listener. */
  readonly open: () => Promise<Duplex>;
  /** Accepted pins (several during a rotation). */
  readonly pins: readonly string[];
  readonly timeoutMs?: number;
  readonly now?: Date;
}

/**
 * Asks the auth service for its certificate chain and returns the PEM of the authority that a pin names, once the leaf has been
 * verified as issued by it to the auth service. Nothing secret is sent. Throws `unauthenticated` when no pin matches.
 */
export async function trustByPin(options: PinnedTrustOptions): Promise<string> {
  const pins = options.pins.map(parseCaPin);
  let leaf: X509Certificate | undefined;
  let authority: X509Certificate | undefined;
  // During a rotation the service has two authorities, and presents the one that the client requests.
  for (const pin of pins) {
    const chain = await peerChain(await options.open(), { servername: authServerName(pin), timeoutMs: options.timeoutMs ?? 10_000 });
    [leaf] = chain;
    authority = chain.slice(1).find((certificate) => pins.includes(caPin(certificate.raw)));
    if (authority !== undefined) break;
  }
  if (leaf === undefined || authority === undefined) {
    throw new PlatformError("unauthenticated", "the certificate authority of the cluster does not match the CA pin", {
      hint: "compare the pin with what `tctl status` prints on the auth host; otherwise this may be a man-in-the-middle attack",
    });
  }
  const now = options.now ?? new Date();
  const valid = authority.ca && leaf.checkIssued(authority) && leaf.verify(authority.publicKey) && authority.verify(authority.publicKey);
  if (!valid || leaf.checkHost(roleServerName("auth")) === undefined) {
    throw new PlatformError("unauthenticated", "the server's certificate was not issued to an auth service by the pinned authority");
  }
  if (now < new Date(leaf.validFrom) || now >= new Date(leaf.validTo)) {
    throw new PlatformError("unauthenticated", `the auth service's certificate is valid from ${leaf.validFrom} to ${leaf.validTo}`, {
      hint: "check this host's clock",
    });
  }
  return authority.toString();
}

/** The peer's certificates, leaf first, without any verification. */
function peerChain(stream: Duplex, { servername, timeoutMs }: { servername: string; timeoutMs: number }): Promise<X509Certificate[]> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: stream,
      ALPNProtocols: [alpn.auth, "h2"],
      servername,
      minVersion: "TLSv1.3",
      rejectUnauthorized: false,
    });
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      socket
        .off("error", fail)
        .off("close", closed)
        .on("error", () => {});
      settle();
      socket.destroy();
    };
    const fail = (cause: Error): void =>
      finish(() => reject(new PlatformError("unavailable", `no TLS connection to the auth service: ${cause.message}`, { cause })));
    const closed = (): void => fail(new Error("the connection was closed"));
    const timer = setTimeout(
      () => finish(() => reject(new PlatformError("timeout", "the auth service did not finish the TLS handshake in time"))),
      timeoutMs,
    );
    socket.once("error", fail).once("close", closed);
    socket.once("secureConnect", () => finish(() => resolve(collect(socket.getPeerCertificate(true)))));
  });
}

/** At most 8 deep; Node closes the chain with a certificate that is its own issuer. */
function collect(certificate: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let one: DetailedPeerCertificate | undefined = certificate; one?.raw !== undefined && chain.length < 8; one = one.issuerCertificate) {
    const parsed = new X509Certificate(one.raw);
    if (chain.at(-1)?.fingerprint256 === parsed.fingerprint256) break;
    chain.push(parsed);
  }
  return chain;
}
