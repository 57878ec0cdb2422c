import { createPublicKey } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";

const curves = ["prime256v1", "secp384r1"];

/** A caller's TLS public key (SPKI PEM) as DER. Throws `invalid` for anything else, or a weak key. */
export function tlsPublicKey(pem: string): Buffer {
  const refuse = (why: string, cause?: unknown): never => {
    throw new PlatformError("invalid", `the TLS public key ${why}`, { cause, hint: "send an ECDSA P-256 or Ed25519 public key, PEM" });
  };
  if (pem.length > 8_192 || !pem.includes("-----BEGIN PUBLIC KEY-----")) refuse("is not a PEM public key");
  try {
    const key = createPublicKey(pem);
    const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
    const strong =
      key.asymmetricKeyType === "ed25519" ||
      (key.asymmetricKeyType === "ec" && curves.includes(namedCurve ?? "")) ||
      (key.asymmetricKeyType === "rsa" && (modulusLength ?? 0) >= 2048 && (modulusLength ?? 0) <= 8192);
    if (!strong) refuse(`is of an unsupported kind (${key.asymmetricKeyType})`);
    return key.export({ type: "spki", format: "der" });
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    return refuse("cannot be read", cause);
  }
}
