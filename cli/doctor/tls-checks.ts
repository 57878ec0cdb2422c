import type { TLSSocket } from "node:tls";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { expiryWarning, validityOf } from "../../core/resources/proxy-facts.ts";
import { Attempt, ignoreError } from "../../core/transport/dial/attempt.ts";
import { errorCode } from "../../core/transport/dial/connection-error.ts";
import { startTls, type TlsOptions } from "../../core/transport/dial/start-tls.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import { upgradeOver } from "../../core/transport/upgrade/request-upgrade.ts";
import type { Examination, Said } from "./examination.ts";
import type { Path } from "./path-checks.ts";

export interface TlsAsk {
  /** The protocol to negotiate. */
  readonly alpn: string;
  /** The name that the certificate must have. */
  readonly servername: string;
  /** Finds the authorities to trust, PEM; undefined: what this machine trusts. */
  readonly authorities: () => Promise<readonly string[] | undefined>;
  /** The remedy when no trusted authority issued the certificate. */
  readonly untrusted: string;
}

interface Peer {
  readonly protocol: string;
  readonly alpn: string | false | null;
  readonly issuer: string;
  readonly subject: string;
  /** RFC 3339. */
  readonly from: string;
  readonly until: string;
}

/** A certificate of the right authority that is refused for another reason. */
const ownFaults = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "ERR_TLS_CERT_ALTNAME_INVALID"]);

/**
 * Checks TLS over the path: the peer, whether our protocol gets through, and whether the certificate is the right one. `answers`: the
 * peer speaks TLS, whatever its identity.
 */
export async function examineTls(exam: Examination, path: Path, ask: TlsAsk): Promise<{ answers: boolean; trusted: boolean }> {
  const where = formatHostPort(path.target);
  const peer = await exam.check("tls", async () => {
    // Unverified, to report the peer's identity: nothing is sent.
    const found = await shakeHands(path, { alpn: [ask.alpn], servername: ask.servername, insecure: true }).catch(async (thrown: unknown) => {
      await requireUpgrade(path, refusedProtocol(thrown));
      return await shakeHands(path, { alpn: ["http/1.1"], servername: path.target.host, insecure: true });
    });
    const certificate = `certificate of ${found.subject}, issued by ${found.issuer}, until ${found.until}`;
    return { says: `${where} speaks ${found.protocol}: ${certificate}`, value: found };
  });
  if (peer === undefined) return { answers: false, trusted: false };
  const isDirect = ask.alpn === peer.alpn;
  const agreed = await exam.passes("alpn", async () => {
    if (isDirect) return { says: `${ask.alpn} gets through` };
    await requireUpgrade(path, otherProtocol(ask.alpn, peer.alpn));
    return { says: `${where} ends TLS before the proxy, and passes WebSockets on: ${ask.alpn} gets through in one` };
  });
  const way = isDirect ? path : inUpgrade(path);
  return { answers: true, trusted: agreed && (await exam.passes("certificate", () => verify(way, ask, peer))) };
}

/** The certificate that browsers, logins and updaters receive, and its expiry. Throws PlatformError when it has expired. */
export async function examineWebCertificate(path: Path, servername: string, now = new Date()): Promise<Said> {
  const { subject, from, until } = await shakeHands(path, { alpn: ["http/1.1"], servername, insecure: true });
  const warning = expiryWarning(validityOf({ from, until }), now);
  const says = `web certificate of ${subject}, until ${until}`;
  if (warning === undefined) return { says };
  const hint = "on the proxy, renew the certificate of https_keypairs: it is loaded without a restart";
  if (new Date(until) > now) return { says, warning: `it ${warning}; ${hint}` };
  throw new PlatformError("unauthenticated", `the ${says}, ${warning}: logins fail, and updaters get no answer`, { hint });
}

const endsTls =
  "a device on the path terminates TLS (a load balancer, an inspecting proxy), or this is not a proxy of a cluster: pass TLS through unmodified, or let WebSockets through (docs/load-balancers.md)";

function refusedProtocol(thrown: unknown): PlatformError {
  if (!(thrown instanceof PlatformError) || errorCode(thrown.cause) !== "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL") throw thrown;
  return new PlatformError("unavailable", "the peer speaks TLS but refuses our protocol", { hint: endsTls, cause: thrown });
}

function otherProtocol(wanted: string, got: Peer["alpn"]): PlatformError {
  const instead = got === false || got === null ? "no protocol" : got;
  return new PlatformError("unavailable", `${wanted} does not get through: the peer agreed to ${instead}`, { hint: endsTls });
}

/** The path inside a connection upgrade. */
function inUpgrade(path: Path): Path {
  return { ...path, open: async (attempt) => await upgradeOver(await path.open(attempt), { target: path.target, attempt }) };
}

/** Tries a connection upgrade. Throws the refusal, with the reason, if that fails too. */
async function requireUpgrade(path: Path, refusal: PlatformError): Promise<void> {
  using attempt = new Attempt({});
  try {
    (await inUpgrade(path).open(attempt)).destroy();
  } catch (thrown) {
    const { code, message, hint, cause } = refusal;
    throw new PlatformError(code, message, { hint: `${hint}; a WebSocket does not get through now: ${errorText(thrown)}`, cause });
  }
}

async function verify(path: Path, ask: TlsAsk, peer: Peer): Promise<Said> {
  const { alpn, servername } = ask;
  try {
    await shakeHands(path, { alpn: [alpn], servername, ca: await ask.authorities() });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    const known = ownFaults.has(errorCode(thrown.cause));
    const stranger = `if ${peer.issuer} is a device that inspects TLS on the path, exempt ${formatHostPort(path.target)} from it`;
    const hint = known ? thrown.hint : `${ask.untrusted}; ${stranger}`;
    throw new PlatformError("unauthenticated", thrown.message, { hint, cause: thrown });
  }
  return { says: `it is trusted, and good for ${servername}` };
}

async function shakeHands(path: Path, tls: TlsOptions): Promise<Peer> {
  using attempt = new Attempt({});
  const socket = await path.open(attempt);
  const secure = await startTls(socket, tls, { attempt, peer: formatHostPort(path.target), hint: "check the address and its port" });
  try {
    return describe(secure);
  } finally {
    secure.off("error", ignoreError).on("error", ignoreError).destroy();
  }
}

function describe(secure: TLSSocket): Peer {
  const certificate = secure.getPeerX509Certificate();
  return {
    protocol: secure.getProtocol() ?? "TLS",
    alpn: secure.alpnProtocol,
    issuer: oneName(certificate?.issuer),
    subject: oneName(certificate?.subject),
    from: (certificate?.validFromDate ?? new Date(0)).toISOString(),
    until: (certificate?.validToDate ?? new Date(0)).toISOString(),
  };
}

/** `CN=a\nO=b` as Node writes it: the common name, else all of it. Untrusted text, cut. */
function oneName(name: string | undefined): string {
  const text = /^CN=(.*)$/m.exec(name ?? "")?.[1] ?? (name ?? "").replaceAll("\n", ", ");
  return JSON.stringify(text.slice(0, 100));
}
