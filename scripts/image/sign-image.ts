import { type KeyObject, sign } from "node:crypto";
import { type Blob, describe, hashOf, imageTypes, json } from "./oci-layout.ts";

export interface ImageClaims {
  /** Of the image: `sha256:` and 64 hex digits. */
  readonly digest: string;
  /** Name of the image's repository, as people know it. */
  readonly reference: string;
  readonly version: string;
}

/** What is stored for a signature. */
export interface ImageSignature {
  /** Name in the image's repository. */
  readonly tag: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly payload: Blob;
}

export const payloadType = "application/vnd.dev.cosign.simplesigning.v1+json";

/** Signs an image as cosign does with key files (core/kubernetes/image-signature.ts draws the form). ECDSA: no two signatures are equal. */
export function signImage({ digest, reference, version }: ImageClaims, keys: readonly KeyObject[]): ImageSignature {
  for (const { asymmetricKeyType, asymmetricKeyDetails } of keys) {
    if (asymmetricKeyType !== "ec" || asymmetricKeyDetails?.namedCurve !== "prime256v1")
      throw new Error("images are signed with an ECDSA key, curve P-256");
  }
  const critical = {
    identity: { "docker-reference": reference },
    image: { "docker-manifest-digest": digest },
    type: "cosign container image signature",
  };
  const payload = json({ critical, optional: { version } });
  const rootfs = { type: "layers", diff_ids: keys.map(() => hashOf(payload)) };
  const config = json({ architecture: "", os: "", config: {}, created: "1970-01-01T00:00:00Z", rootfs });
  const annotations = (key: KeyObject) => ({ "dev.cosignproject.cosign/signature": sign("sha256", payload, key).toString("base64") });
  const layers = keys.map((key) => ({ ...describe(payload, payloadType), annotations: annotations(key) }));
  const manifest = json({ schemaVersion: 2, mediaType: imageTypes.manifest, config: describe(config, imageTypes.config), layers });
  return { tag: `${digest.replace(":", "-")}.sig`, manifest, config, payload };
}
