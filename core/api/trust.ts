import { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { connect as connectTls, type DetailedPeerCertificate } from "node:tls";
import { PlatformError } from "../errors/platform-error.ts";
import { alpn, authServerName, roleServerName } from "../transport/alpn.ts";
import type { DialOptions } from "../transport/dial/dial.ts";
import { httpsGet } from "../transport/dial/https-get.ts";
import { formatHostPort, type HostPort } from "../transport/host-port.ts";
import { overWebPort } from "../transport/upgrade/dial-web-port.ts";
import { caPin, parseCaPin } from "./ca-pin.ts";

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
  const { leaf, authority } = await pinnedChain(options, pins);
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

interface PinnedChain {
  readonly leaf: X509Certificate;
  readonly authority: X509Certificate;
}

/** During a rotation the service has two authorities, and presents the one that the client requests. Throws `unauthenticated` when no pin names either. */
async function pinnedChain({ open, timeoutMs = 10_000 }: PinnedTrustOptions, pins: readonly string[]): Promise<PinnedChain> {
  let refused = new PlatformError("unauthenticated", "the certificate authority of the cluster does not match the CA pin", {
    hint: "compare the pin with what `tctl status` prints on the auth host; otherwise this may be a man-in-the-middle attack",
  });
  const mismatch = refused;
  for (const pin of pins) {
    try {
      return await overWebPort(open, async (stream) => {
        const [leaf, ...issuers] = await peerChain(stream, { servername: authServerName(pin), timeoutMs });
        const authority = issuers.find((certificate) => pins.includes(caPin(certificate.raw)));
        if (leaf === undefined || authority === undefined) throw mismatch;
        return { leaf, authority };
      });
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
      refused = thrown;
    }
  }
  throw refused;
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

const hint =
  "pass the CA pin that `tctl status` prints on the auth host, or serve the proxy's web address with a certificate that this system trusts";

/**
 * Without a CA pin: the cluster's host authorities (PEM), asked from the proxy's web address, whose certificate the system's
 * roots must verify. Throws `unauthenticated` when they do not.
 */
export async function fetchTrust(proxy: HostPort, options: DialOptions): Promise<readonly string[]> {
  const where = `https://${formatHostPort(proxy)}`;
  const answer = await get(proxy, where, options);
  if (answer.status !== 200) {
    throw new PlatformError("unavailable", `${where} does not serve its certificate authorities (status ${answer.status})`, {
      hint: "is this the web address of the proxy?",
    });
  }
  const found = answer.body.toString("latin1").match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  const authorities = found.filter(isAuthority).map((pem) => `${pem}\n`);
  if (authorities.length > 0) return authorities;
  throw new PlatformError("unavailable", `${where} answered without a certificate authority`, { hint: "is this the web address of the proxy?" });
}

async function get(proxy: HostPort, where: string, options: DialOptions): Promise<{ status: number; body: Buffer }> {
  try {
    return await httpsGet(proxy, "/webapi/auth/export?type=tls-host", { ...options, maxBytes: 262_144 });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    throw new PlatformError("unauthenticated", `the certificate of ${where} is not trusted by this system, and no CA pin was given`, {
      cause: thrown,
      hint,
    });
  }
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
