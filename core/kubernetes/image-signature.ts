import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { PlatformError } from "../errors/platform-error.ts";

/*
 * Signatures of container images in cosign's classic form: the tag `sha256-<hex>.sig` of the image's repository names a manifest. Each of its
 * layers is a payload, with the signature of the payload's bytes (ECDSA P-256, SHA-256, DER) as base64 in an annotation:
 *
 *   {"critical":{"identity":{"docker-reference":…},"image":{"docker-manifest-digest":"sha256:…"},"type":"cosign container image signature"},
 *    "optional":{"version":"1.2.3"}}
 *
 * Source: github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md.
 */

const payloadType = "application/vnd.dev.cosign.simplesigning.v1+json";
const signatureAnnotation = "dev.cosignproject.cosign/signature";
const signatureKind = "cosign container image signature";

/** Limits on what an unknown registry may send: bytes of a manifest and of a payload, and signatures of one image. */
const maxManifest = 256 * 1024;
const maxPayload = 16 * 1024;
const maxSignatures = 32;

export interface SignedImage {
  /** Of the image: `sha256:` and 64 hex digits. */
  readonly digest: string;
  /** The version that the signature must name: a registry could otherwise serve an older image that was also signed. Omitted: any. */
  readonly version?: string | undefined;
  /** Content of the signatures' manifest. */
  readonly manifest: Buffer;
  /** Fetches a payload by its digest. It may fail, or send anything. */
  readonly blob: (digest: string) => Promise<Buffer>;
  /** One of them must have signed; two while a key is being replaced. */
  readonly keys: readonly KeyObject[];
}

/** Name of the tag with the signatures of an image. Pure. */
export function signatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}

/**
 * Resolves if one of `keys` signed this image. Throws `denied` if none did, or another image, or another version; `invalid` if the manifest
 * cannot be read; and what `blob` throws.
 */
export async function verifyImageSignature(image: SignedImage): Promise<void> {
  if (image.keys.length === 0)
    throw new PlatformError("invalid", "there is no key to verify images with", { hint: "set the publisher's public key" });
  let found = 0;
  let reason = "";
  for (const { digest, size, signature } of readSignatures(image.manifest)) {
    const payload = await image.blob(digest);
    found += 1;
    const refusal = judgePayload(image, { payload, digest, size, signature });
    if (refusal === undefined) return;
    reason = refusal;
  }
  const { digest } = image;
  throw new PlatformError("denied", found === 0 ? `${digest} is not signed` : `${digest} has no valid signature: ${reason}`, {
    hint: "use an image of the publisher, copied together with its signatures, and the publisher's public key",
  });
}

/** Public keys in a PEM text, one after the other. Throws `invalid` for anything but ECDSA P-256. */
export function readPublicKeys(pem: string): readonly KeyObject[] {
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]{1,2000}-----END PUBLIC KEY-----/g) ?? [];
  if (blocks.length === 0) throw new PlatformError("invalid", "there is no public key (PEM, BEGIN PUBLIC KEY)");
  return blocks.map((block) => {
    const key = readKey(block);
    if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1")
      throw new PlatformError("invalid", "keys of images must be ECDSA keys with curve P-256");
    return key;
  });
}

function readKey(block: string): KeyObject {
  try {
    return createPublicKey(block);
  } catch (cause) {
    throw new PlatformError("invalid", "a public key cannot be read", { cause });
  }
}

interface Signature {
  readonly digest: string;
  readonly size: number;
  readonly signature: string;
}

/** The reason against a signature; undefined if it holds. */
function judgePayload({ keys, digest, version }: SignedImage, held: Signature & { readonly payload: Buffer }): string | undefined {
  const { payload } = held;
  if (payload.length !== held.size || hashOf(payload) !== held.digest) return "the registry sent another payload than the manifest names";
  const signature = Buffer.from(held.signature, "base64");
  if (!keys.some((key) => verify("sha256", payload, key, signature))) return "it was made with another key";
  // Only here: the bytes are now those of a publisher.
  const claims = readClaims(payload);
  if (claims?.kind !== signatureKind) return "its payload is not that of an image's signature";
  if (claims.digest !== digest) return `it belongs to ${claims.digest.slice(0, 80)}`;
  if (version !== undefined && claims.version !== version)
    return `it belongs to version ${claims.version?.slice(0, 80) ?? "unknown"}, not ${version}`;
  return undefined;
}

function readSignatures(manifest: Buffer): readonly Signature[] {
  const malformed = (why: string): never => {
    throw new PlatformError("invalid", `the manifest of the image's signatures cannot be read: ${why}`);
  };
  if (manifest.length > maxManifest) return malformed("it is too long");
  const layers = field(parse(manifest), "layers");
  if (!Array.isArray(layers)) return malformed("it names no layers");
  if (layers.length > maxSignatures) return malformed(`it has more than ${maxSignatures} signatures`);
  return layers
    .filter((layer: unknown) => field(layer, "mediaType") === payloadType)
    .map((layer: unknown) => {
      const [digest, size, signature] = [field(layer, "digest"), field(layer, "size"), field(field(layer, "annotations"), signatureAnnotation)];
      if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest)) return malformed("a payload has no digest");
      if (typeof size !== "number" || !(size > 0 && size <= maxPayload)) return malformed("a payload has no size, or is too long");
      if (typeof signature !== "string" || signature.length > 1024) return malformed("a payload has no signature");
      return { digest, size, signature };
    });
}

function readClaims(payload: Buffer): { kind: unknown; digest: string; version: string | undefined } | undefined {
  const value = parse(payload);
  const critical = field(value, "critical");
  const digest = field(field(critical, "image"), "docker-manifest-digest");
  const version = field(field(value, "optional"), "version");
  if (typeof digest !== "string") return undefined;
  return { kind: field(critical, "type"), digest, version: typeof version === "string" ? version : undefined };
}

/** Undefined for anything but JSON. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function hashOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
