import type { PeerCertificate, TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";

/** Context of a failed connection: `message` begins the sentence, `hint` is the advice for an unreachable peer. */
export interface Purpose {
  readonly message: string;
  readonly hint: string;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  CONNECTION_CLOSED: "the connection was closed",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "the network is unreachable",
  EHOSTDOWN: "the host is down",
  ETIMEDOUT: "the connection timed out",
  ENOTFOUND: "the name does not exist",
  EAI_AGAIN: "the name could not be resolved",
  EADDRNOTAVAIL: "the address cannot be reached from here",
  EACCES: "this machine's rules forbid it",
  EPERM: "this machine's rules forbid it",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_HEADERS_OVERFLOW: "its headers are too long",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "its length is not the one that it announces",
};

/** A socket's error as `unavailable`, with a sentence for its code; a PlatformError passes unchanged. */
export function connectionError(thrown: unknown, purpose: Purpose): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const code = errorCode(thrown);
  const reason = reasons[code] ?? (thrown instanceof Error && thrown.message !== "" ? thrown.message : code);
  return new PlatformError("unavailable", `${purpose.message}: ${reason}`, { hint: purpose.hint, cause: thrown });
}

/** Node's `code` of an error, or an empty text. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}

const clock = "renew it, or check this machine's clock";
const authority =
  "check the address; if the certificate is the right one, configure its authority (or the CA pin) in this program; if an HTTP proxy on the way inspects TLS, exempt this address from it";

/** OpenSSL's verification results as Node names them. */
const verdicts: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  CERT_HAS_EXPIRED: ["has expired", clock],
  CERT_NOT_YET_VALID: ["is not valid yet", clock],
  ERR_TLS_CERT_ALTNAME_INVALID: ["was issued for another name", "check the address that you gave"],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["is self-signed and not trusted", authority],
  SELF_SIGNED_CERT_IN_CHAIN: ["comes from an authority that is not trusted", authority],
  UNABLE_TO_GET_ISSUER_CERT: ["comes from an authority that is not trusted", authority],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["comes from an authority that is not trusted", authority],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["comes from an authority that is not trusted", authority],
  CERT_UNTRUSTED: ["comes from an authority that is not trusted", authority],
  CERT_SIGNATURE_FAILURE: ["has a wrong signature", authority],
  CERT_REVOKED: ["was revoked", authority],
  INVALID_CA: ["comes from a certificate that is not an authority", authority],
  INVALID_PURPOSE: ["is not meant for servers", authority],
  PATH_LENGTH_EXCEEDED: ["has a chain that its authority does not allow", authority],
  CERT_CHAIN_TOO_LONG: ["has a chain that is too long", authority],
};

interface TlsPeer {
  /** Reads `the proxy p:3128`. */
  readonly peer: string;
  /** Hint when it does not speak TLS. */
  readonly hint: string;
  /** Issuer of its certificate, as from `issuerOf`. */
  readonly issuer?: string | undefined;
}

/** A failed TLS handshake: `unauthenticated` when the certificate is refused, else `unavailable`. */
export function tlsError(thrown: unknown, { peer, hint, issuer }: TlsPeer): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const code = errorCode(thrown);
  const verdict = verdicts[code];
  if (verdict !== undefined) {
    const by = verdict[1] === authority && issuer !== undefined ? ` (it is issued by ${issuer})` : "";
    return new PlatformError("unauthenticated", `the certificate of ${peer} ${verdict[0]}${by}`, { hint: verdict[1], cause: withoutAdvice(thrown) });
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return new PlatformError("unavailable", `${peer} does not speak TLS on this port`, { hint, cause: thrown });
  }
  return connectionError(thrown, { message: `no TLS connection to ${peer}`, hint });
}

/** Removes advice in Node's text that is for manually started programs, not for our users. */
function withoutAdvice(thrown: unknown): unknown {
  if (thrown instanceof Error) thrown.message = thrown.message.replace(/; if the root CA is installed locally.*$/s, "");
  return thrown;
}

/** Maximum name of an issuer in messages, characters. */
const longestIssuer = 120;

/** The issuer of a peer's certificate, for messages: quoted, since it is not verified. */
export function issuerOf(socket: TLSSocket): string | undefined {
  const { CN, O } = (socket.getPeerCertificate() as Partial<PeerCertificate> | null)?.issuer ?? {};
  const names = [CN, O].flat().filter((name) => typeof name === "string" && name !== "");
  return names.length === 0 ? undefined : JSON.stringify(names.join(", ").slice(0, longestIssuer));
}
