import { createHash } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type Blob = Buffer;

/** Reference to a blob, as manifests and indexes hold it. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Media types of OCI images. */
export const imageTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

const refName = "org.opencontainers.image.ref.name";

/** An OCI image layout that is being written: a folder of blobs by digest, and an index of tags (opencontainers/image-spec, image-layout.md). */
export class OciLayout {
  readonly #folder: string;
  readonly #tags = new Map<string, Descriptor>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(folder: string): Promise<OciLayout> {
    await mkdir(join(folder, "blobs/sha256"), { recursive: true });
    await writeFile(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    return new OciLayout(folder);
  }

  async add(blob: Blob, mediaType: string): Promise<Descriptor> {
    const described = describe(blob, mediaType);
    await writeFile(this.#path(described.digest), blob);
    return described;
  }

  /** Moves a file, whose digest the caller knows, into the layout. */
  async move(file: string, { digest, mediaType }: Omit<Descriptor, "size">): Promise<Descriptor> {
    const { size } = await stat(file);
    await rename(file, this.#path(digest));
    return { mediaType, digest, size };
  }

  /** Bytes to download for the image of a manifest: its layers and its configuration. */
  async downloadSize({ digest }: Pick<Descriptor, "digest">): Promise<number> {
    const { config, layers } = JSON.parse(await readFile(this.#path(digest), "utf8")) as { config: Descriptor; layers: readonly Descriptor[] };
    return [config, ...layers].reduce((sum, { size }) => sum + size, 0);
  }

  tag(name: string, descriptor: Descriptor): void {
    this.#tags.set(name, descriptor);
  }

  /** Writes the index: the layout is complete. */
  async save(): Promise<void> {
    const manifests = [...this.#tags].sort().map(([name, descriptor]) => ({ ...descriptor, annotations: { [refName]: name } }));
    await writeFile(join(this.#folder, "index.json"), json({ schemaVersion: 2, mediaType: imageTypes.index, manifests }));
  }

  #path(digest: string): string {
    return join(this.#folder, "blobs", digest.replace(":", "/"));
  }
}

export function describe(blob: Blob, mediaType: string): Descriptor {
  return { mediaType, digest: hashOf(blob), size: blob.length };
}

export function hashOf(blob: Blob): string {
  return `sha256:${createHash("sha256").update(blob).digest("hex")}`;
}

export function json(value: unknown): Blob {
  return Buffer.from(JSON.stringify(value));
}
