import { BlockList, isIP } from "node:net";
import { PlatformError } from "../errors/platform-error.ts";
import { canonicalIp } from "../transport/canonical-ip.ts";
import type { SshCertificate } from "./certificate.ts";
import { lineBlob, parsePublicBlob } from "./keys.ts";
import { verifyBlob } from "./signature.ts";

export interface CheckCertificateOptions {
  readonly type: "user" | "host";
  /** Public lines of the authorities that may have signed it. */
  readonly authorities: readonly string[];
  /** A login or a host name that the certificate must list. */
  readonly principal?: string;
  readonly now: Date;
  /** IP address of the peer, for comparison with a `source-address` option. Without it, such a certificate is refused. */
  readonly clientAddress?: string;
}

/**
 * Checks everything about a certificate except that the peer holds its key, which the handshake proves.
 * Throws PlatformError `unauthenticated` with a sentence that names the failed check.
 */
export function checkCertificate(certificate: SshCertificate, options: CheckCertificateOptions): void {
  const refusal = refuse(certificate, options);
  if (refusal !== undefined) throw new PlatformError("unauthenticated", refusal.reason, { hint: refusal.hint });
}

interface Refusal {
  readonly reason: string;
  readonly hint?: string;
}

function refuse(certificate: SshCertificate, options: CheckCertificateOptions): Refusal | undefined {
  const { now, principal } = options;
  const name = `the ${certificate.type} certificate ${JSON.stringify(certificate.keyId.slice(0, 128))}`;
  if (certificate.type !== options.type) return { reason: `${name} is of the wrong kind: a ${options.type} certificate is required` };
  const authority = options.authorities.map(lineBlob).find((blob) => blob.equals(certificate.authority));
  if (authority === undefined) return { reason: `${name} is signed by an unknown authority` };
  if (!verifyBlob({ key: parsePublicBlob(authority).key, data: certificate.signed, signature: certificate.signature })) {
    return { reason: `${name} has a bad signature` };
  }
  if (now < certificate.validAfter) {
    return { reason: `${name} is not valid before ${certificate.validAfter.toISOString()}`, hint: "check the clocks of both machines" };
  }
  if (now >= certificate.validBefore) return { reason: `${name} expired at ${certificate.validBefore.toISOString()}` };
  for (const [option, value] of certificate.criticalOptions) {
    const reason = refuseOption(option, value, options.clientAddress);
    if (reason !== undefined) return { reason: `${name} ${reason}` };
  }
  if (principal !== undefined && !lists(certificate, principal)) {
    return { reason: `${name} does not list ${JSON.stringify(principal.slice(0, 128))}` };
  }
  return undefined;
}

/** Host names are case-insensitive, logins are not. */
function lists({ type, principals }: SshCertificate, principal: string): boolean {
  if (type === "user") return principals.includes(principal);
  const wanted = principal.toLowerCase();
  return principals.some((name) => name.toLowerCase() === wanted);
}

/** A certificate with an option that is not enforced here is refused: that is the meaning of "critical". */
function refuseOption(option: string, value: string, clientAddress: string | undefined): string | undefined {
  if (option !== "source-address") return `has the unknown critical option ${JSON.stringify(option.slice(0, 128))}`;
  if (clientAddress === undefined) return "is bound to source addresses, and the client's is not known here";
  return matchesSource(value, clientAddress) ? undefined : `may not be used from ${clientAddress}`;
}

/**
 * Whether an IP address is in a certificate's `source-address` list: addresses and CIDR ranges, separated by commas.
 * A list that does not parse matches nothing.
 */
export function matchesSource(list: string, address: string): boolean {
  const plain = canonicalIp(address);
  const family = familyOf(plain);
  if (family === undefined) return false;
  const allowed = new BlockList();
  for (const entry of list.split(",")) {
    const [network = "", prefix, ...rest] = entry.trim().split("/");
    const kind = familyOf(network);
    const most = kind === "ipv4" ? 32 : 128;
    if (kind === undefined || rest.length > 0 || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= most))) return false;
    allowed.addSubnet(network, prefix === undefined ? most : Number(prefix), kind);
  }
  return allowed.check(plain, family);
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}
