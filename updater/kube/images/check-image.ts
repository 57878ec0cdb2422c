import { createHash, type KeyObject } from "node:crypto";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { signatureTag, verifyImageSignature } from "../../../core/kubernetes/image-signature.ts";
import type { ImageVerdict } from "../update/update-decision.ts";
import { parseImage, versionOfImage } from "./image-reference.ts";
import { type RegistryReader, registryFailure } from "./registry.ts";
import { parseManifest, platformOfConfig } from "./registry-answers.ts";

export interface CheckOptions {
  readonly registry: Pick<RegistryReader, "manifest" | "blob">;
  /** Publisher's keys; one of them must have signed. Undefined: signatures are not checked, as an admin has decided. */
  readonly keys: readonly KeyObject[] | undefined;
  /** `linux/amd64`: this controller's own, as it runs on the cluster's nodes. */
  readonly platform: string;
}

/**
 * Whether the registry has an image, for this platform, signed for exactly this version. The digest is computed from the manifest, never taken from a header.
 * Does not throw: what could not be asked is `unknown`.
 */
export async function checkImage(name: string, options: CheckOptions): Promise<ImageVerdict> {
  const image = parseImage(name);
  const version = versionOfImage(name);
  if (image?.tag === undefined || version === undefined) return { kind: "unknown", detail: `${name} is not the name of an image with a version` };
  const place = { registry: image.registry, repository: image.repository };
  try {
    const manifest = await options.registry.manifest(place, image.tag);
    if (manifest === undefined) return { kind: "missing", detail: `${name} does not exist in registry ${image.registry}` };
    const digest = `sha256:${createHash("sha256").update(manifest).digest("hex")}`;
    const misfit = await findMisfit(place, manifest, options);
    if (misfit !== undefined) return { kind: "missing", detail: `${name} ${misfit}` };
    return (await findFlaw({ place, digest, version, name }, options)) ?? { kind: "good", digest };
  } catch (thrown) {
    return { kind: "unknown", detail: registryFailure(thrown), isDenied: thrown instanceof PlatformError && thrown.code === "denied" };
  }
}

interface Place {
  readonly registry: string;
  readonly repository: string;
}

/** The reason why the image would not run on this platform. */
async function findMisfit(place: Place, manifest: Buffer, { registry, platform }: CheckOptions): Promise<string | undefined> {
  const found = parseManifest(manifest.toString("utf8"));
  switch (found.kind) {
    case "index":
      return found.platforms.includes(platform)
        ? undefined
        : `has no image for ${platform}, only for ${found.platforms.slice(0, 5).join(", ") || "none"}`;
    case "image": {
      const config = await registry.blob(place, found.config);
      const its = platformOfConfig(config.toString("utf8"));
      return its === platform ? undefined : `is for ${its}, and this cluster's nodes are ${platform}`;
    }
    case "unknown":
      return "is not a container image";
  }
}

/** The verdict on an image whose signature is missing or wrong; undefined for a good one. */
async function findFlaw(
  { place, digest, version, name }: { place: Place; digest: string; version: string; name: string },
  { registry, keys }: CheckOptions,
): Promise<ImageVerdict | undefined> {
  if (keys === undefined) return undefined;
  const manifest = await registry.manifest(place, signatureTag(digest));
  if (manifest === undefined) return { kind: "refused", detail: `${name} (${digest}) is not signed` };
  // A registry that fails says nothing about the signature.
  let failure: unknown;
  const blob = async (of: string): Promise<Buffer> => {
    try {
      return await registry.blob(place, of);
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    }
  };
  try {
    await verifyImageSignature({ digest, version, manifest, keys, blob });
    return undefined;
  } catch (thrown) {
    if (thrown === failure || !(thrown instanceof PlatformError)) throw thrown;
    return { kind: "refused", detail: `the signature of ${name} is not accepted: ${errorText(thrown)}` };
  }
}
