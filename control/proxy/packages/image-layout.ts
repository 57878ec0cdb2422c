import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { openPackage, type PackageFile } from "./package-file.ts";
import { isDigest } from "./registry-path.ts";

/*
 * A repository of images is a folder `oci/<name>` in the form of an OCI image layout: `index.json` names manifests by tag, `blobs/sha256/` has
 * everything by digest (opencontainers/image-spec, image-layout.md).
 */

/** Largest index and manifest that are read, bytes: the specification's limit of manifests. */
const maxManifest = 4 * 1024 * 1024;
const refName = "org.opencontainers.image.ref.name";
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const indexSchema = z.object({ manifests: z.array(z.object({ digest, annotations: z.record(z.string(), z.string()).optional() })).max(100_000) });
const manifestSchema = z.object({
  mediaType: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x21-\x7e]+$/),
});

export interface LayoutPlace {
  readonly folder: string;
  /** Name of the repository. */
  readonly name: string;
  readonly now: Date;
}

export interface ImageManifest {
  readonly digest: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

/** Path of a blob below the folder of packages. Pure. */
export function blobPath(name: string, wanted: string): string {
  return `oci/${name}/blobs/${wanted.replace(":", "/")}`;
}

/** Digests by tag; undefined for an unknown repository. Throws `invalid` if its index is damaged. */
export async function readTags(place: LayoutPlace): Promise<ReadonlyMap<string, string> | undefined> {
  const bytes = await readSmall(place, `oci/${place.name}/index.json`);
  if (bytes === undefined) return undefined;
  const index = indexSchema.safeParse(parsed(bytes));
  if (!index.success)
    throw new PlatformError("invalid", `the index of the repository ${place.name} is damaged`, { hint: "publish it again: make repository" });
  return new Map(
    index.data.manifests.flatMap((one) => {
      const tag = one.annotations?.[refName];
      return tag === undefined ? [] : [[tag, one.digest] as const];
    }),
  );
}

/** The manifest of a tag or digest; undefined: it is not there. Throws `invalid` if it is damaged: a wrong one would only fail at the client. */
export async function readManifest(place: LayoutPlace, reference: string): Promise<ImageManifest | undefined> {
  const wanted = isDigest(reference) ? reference : (await readTags(place))?.get(reference);
  const content = wanted === undefined ? undefined : await readSmall(place, blobPath(place.name, wanted));
  if (wanted === undefined || content === undefined) return undefined;
  const manifest = manifestSchema.safeParse(parsed(content));
  // Another kind of blob.
  if (!manifest.success) return undefined;
  if (`sha256:${createHash("sha256").update(content).digest("hex")}` !== wanted)
    throw new PlatformError("invalid", `the manifest ${wanted} of ${place.name} is damaged`, {
      hint: "publish the repository again: make repository",
    });
  return { digest: wanted, mediaType: manifest.data.mediaType, content };
}

/** A file of at most 4 MiB; undefined: it does not exist, or is longer. */
async function readSmall({ folder, now }: LayoutPlace, path: string): Promise<Buffer | undefined> {
  const file = await openPackage(folder, path, now);
  if (file === undefined) return undefined;
  try {
    return file.size > maxManifest ? undefined : await readAll(file);
  } finally {
    await file.handle.close();
  }
}

async function readAll({ handle, size }: PackageFile): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  for (let got = 1; got > 0 && length < size; length += got) got = (await handle.read(bytes, length, size - length, length)).bytesRead;
  return bytes.subarray(0, length);
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
