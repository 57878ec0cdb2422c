import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";

/** One-time codes (RFC 6238): SHA-1, six digits, 30 s, one step of clock skew either way. */
const period = 30;

/** A new secret, base32. */
export function newTotpSecret(): string {
  return new Secret({ buffer: new Uint8Array(randomBytes(20)).buffer }).base32;
}

/** `otpauth://totp/…` for an authenticator. */
export function totpUri(facts: { secret: string; user: string; cluster: string }): string {
  return totp(facts.secret, { issuer: facts.cluster, label: facts.user }).toString();
}

/**
 * The time step of a code, or undefined when it is wrong. A step is valid once: one that is not after `lastStep`
 * is refused (RFC 6238 section 5.2).
 */
export function acceptedStep(facts: { secret: string; code: string; now: Date; lastStep: number | undefined }): number | undefined {
  if (!/^\d{6}$/.test(facts.code)) return undefined;
  const timestamp = facts.now.getTime();
  const delta = totp(facts.secret).validate({ token: facts.code, timestamp, window: 1 });
  if (delta === null) return undefined;
  const step = Math.floor(timestamp / 1000 / period) + delta;
  return facts.lastStep !== undefined && step <= facts.lastStep ? undefined : step;
}

function totp(secret: string, names: { issuer: string; label: string } = { issuer: "", label: "" }): TOTP {
  return new TOTP({ ...names, algorithm: "SHA1", digits: 6, period, secret: Secret.fromBase32(secret) });
}
