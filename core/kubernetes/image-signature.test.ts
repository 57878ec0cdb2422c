import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { readPublicKeys, type SignedImage, signatureTag, verifyImageSignature } from "./image-signature.ts";

const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
const theirs = generateKeyPairSync("ec", { namedCurve: "P-256" });
const digest = `sha256:${"a".repeat(64)}`;
const other = `sha256:${"b".repeat(64)}`;
const hashOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

interface Made {
  readonly payload?: unknown;
  readonly key?: KeyObject;
  readonly sent?: Buffer;
  readonly layer?: object;
}

const claims = (image: string, version = "1.2.3", type = "cosign container image signature") => ({
  critical: { identity: { "docker-reference": "platform-ent" }, image: { "docker-manifest-digest": image }, type },
  optional: { version },
});

function signed(...all: readonly Made[]): Pick<SignedImage, "manifest" | "blob"> {
  const blobs = new Map<string, Buffer>();
  const layers = all.map(({ payload = claims(digest), key = ours.privateKey, sent, layer }) => {
    const bytes = Buffer.from(JSON.stringify(payload));
    blobs.set(hashOf(bytes), sent ?? bytes);
    return {
      mediaType: "application/vnd.dev.cosign.simplesigning.v1+json",
      digest: hashOf(bytes),
      size: bytes.length,
      annotations: { "dev.cosignproject.cosign/signature": sign("sha256", bytes, key).toString("base64") },
      ...layer,
    };
  });
  return { manifest: Buffer.from(JSON.stringify({ schemaVersion: 2, layers })), blob: async (name) => blobs.get(name) ?? Buffer.from("nothing") };
}

const codeOf = async (image: Pick<SignedImage, "manifest" | "blob"> & Partial<SignedImage>): Promise<string> => {
  try {
    await verifyImageSignature({ digest, version: "1.2.3", keys: [ours.publicKey], ...image });
    return "accepted";
  } catch (thrown) {
    return thrown instanceof PlatformError ? thrown.code : String(thrown);
  }
};

test("an image that was signed with one of the keys is accepted", async () => {
  expect(await codeOf(signed({}))).toBe("accepted");
  expect(await codeOf({ ...signed({}), version: undefined })).toBe("accepted");
  expect(await codeOf({ ...signed({}), keys: [theirs.publicKey, ours.publicKey] })).toBe("accepted");
  expect(await codeOf(signed({ key: theirs.privateKey }, {}))).toBe("accepted");
});

test.for<readonly [string, Pick<SignedImage, "manifest" | "blob"> & Partial<SignedImage>, string]>([
  ["another key", signed({ key: theirs.privateKey }), "denied"],
  ["the signature of another image", signed({ payload: claims(other) }), "denied"],
  ["an older version of ours under the new one's tag", signed({ payload: claims(digest, "1.2.2") }), "denied"],
  ["a payload without a version", signed({ payload: { critical: claims(digest).critical } }), "denied"],
  ["a payload of another kind", signed({ payload: claims(digest, "1.2.3", "atomic container signature") }), "denied"],
  ["a payload with a digest in the wrong place", signed({ payload: { ...claims(other), image: { "docker-manifest-digest": digest } } }), "denied"],
  ["another payload than the manifest names", signed({ sent: Buffer.from(JSON.stringify(claims(digest))), payload: claims(other) }), "denied"],
  ["a signature of arbitrary bytes", signed({ layer: { annotations: { "dev.cosignproject.cosign/signature": "AAAA" } } }), "denied"],
  ["no signatures", signed(), "denied"],
  ["a layer of another kind alone", signed({ layer: { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip" } }), "denied"],
  ["a payload without a signature", signed({ layer: { annotations: {} } }), "invalid"],
  ["a payload that is too long", signed({ layer: { size: 1_000_000 } }), "invalid"],
  ["a digest of another form", signed({ layer: { digest: "md5:00" } }), "invalid"],
  ["no layers", { manifest: Buffer.from("{}"), blob: async () => Buffer.alloc(0) }, "invalid"],
  ["no JSON", { manifest: Buffer.from("<html>"), blob: async () => Buffer.alloc(0) }, "invalid"],
  ["too many signatures", signed(...Array.from({ length: 33 }, () => ({ key: theirs.privateKey }))), "invalid"],
  ["a manifest that is too long", { manifest: Buffer.alloc(1_000_000, "{"), blob: async () => Buffer.alloc(0) }, "invalid"],
  ["no keys", { ...signed({}), keys: [] }, "invalid"],
])("%s is refused", async ([, image, code]) => {
  expect(await codeOf(image)).toBe(code);
});

test("nothing but the signed bytes is accepted, whatever a registry changes", async () => {
  const { manifest, blob } = signed({});
  await fc.assert(
    fc.asyncProperty(fc.nat(manifest.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const changed = Buffer.from(manifest);
      changed[at] = (changed[at] ?? 0) ^ change;
      const code = await codeOf({ manifest: changed, blob });
      // A change may leave the meaning: of the version of the schema, of base64's unused bits.
      if (code === "accepted") expect(JSON.parse(changed.toString()).layers[0].digest).toBe(JSON.parse(manifest.toString()).layers[0].digest);
      else expect(["denied", "invalid"]).toContain(code);
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
      expect(await codeOf({ manifest, blob: async () => Buffer.from(bytes) })).toBe("denied");
      expect(await codeOf({ manifest: Buffer.from(bytes), blob })).toBe("invalid");
    }),
  );
});

test("public keys are read from a PEM text, other kinds are refused", () => {
  const pem = [ours, theirs].map(({ publicKey }) => publicKey.export({ type: "spki", format: "pem" })).join("\n# the next one\n");
  expect(readPublicKeys(pem).map((key) => key.equals(ours.publicKey))).toEqual([true, false]);
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" }).toString();
  const wide = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ type: "spki", format: "pem" }).toString();
  for (const text of [rsa, wide, "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"])
    expect(() => readPublicKeys(text)).toThrow(PlatformError);
});

test("signatures are at a tag that names the image", () => {
  expect(signatureTag(digest)).toBe(`sha256-${"a".repeat(64)}.sig`);
});
