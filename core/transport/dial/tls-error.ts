import type { PeerCertificate, TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { connectionError, errorCode } from "./connection-error.ts";

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

export interface TlsPeer {
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
