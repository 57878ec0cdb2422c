import { join } from "node:path";
import type { BuildArch } from "../build/build-target.ts";
import { checkMachine } from "./check-machine.ts";
import { type ImagePrograms, layOutBase, layOutPrograms } from "./image-files.ts";
import { makeLayer } from "./make-layer.ts";
import { type Descriptor, imageTypes, json, type OciLayout } from "./oci-layout.ts";

export interface ImageInput {
  readonly arch: BuildArch;
  readonly version: string;
  readonly programs: Omit<ImagePrograms, "copyright">;
  /** Debian's packages below the programs, and their description. */
  readonly debs: readonly string[];
  readonly base: string;
  readonly packaging: string;
  /** An empty folder on the layout's file system. */
  readonly work: string;
  /** Time of everything in the image, Unix seconds. */
  readonly epoch: number;
  /** Compress little. */
  readonly fast?: boolean;
}

const architecture: Readonly<Record<BuildArch, string>> = { x64: "amd64", arm64: "arm64" };
/** The reference's, so that policies of clusters which name the user go on working. */
const user = "9807:9807";

/**
 * Makes the image of one architecture: a layer with Debian's libraries, which many versions share, and one with the programs. Equal input makes
 * equal bytes. The descriptor of its manifest. Throws if a file is for another architecture.
 */
export async function makeImage(layout: OciLayout, input: ImageInput): Promise<Descriptor> {
  const { arch, work, epoch, packaging, fast = false } = input;
  const [below, above] = [join(work, `${arch}-base`), join(work, `${arch}-programs`)];
  await layOutBase(below, { debs: input.debs, packaging });
  await layOutPrograms(above, { ...input.programs, copyright: join(packaging, "deb/copyright") });
  for (const folder of [below, above]) await checkMachine(folder, arch);
  const scratch = join(work, `${arch}.layer`);
  const layers = [await makeLayer(layout, { root: below, scratch, epoch: 0, fast }), await makeLayer(layout, { root: above, scratch, epoch, fast })];
  const platform = { os: "linux", architecture: architecture[arch] };
  const created = new Date(epoch * 1000).toISOString();
  const labels = imageLabels(input);
  const config = {
    ...platform,
    created,
    config: {
      User: user,
      Env: ["PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
      Entrypoint: ["/usr/bin/platform"],
      WorkingDir: "/",
      Labels: { ...labels, "dev.platform.base-packages": input.base },
      StopSignal: "SIGTERM",
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: [
      { created, created_by: "Debian's libraries and authorities" },
      { created, created_by: "platform" },
    ],
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: imageTypes.manifest,
    config: await layout.add(json(config), imageTypes.config),
    layers: layers.map(({ descriptor }) => descriptor),
    annotations: labels,
  };
  return { ...(await layout.add(json(manifest), imageTypes.manifest)), platform };
}

/** The index of an image's architectures. */
export async function makeIndex(
  layout: OciLayout,
  manifests: readonly Descriptor[],
  about: Pick<ImageInput, "version" | "epoch">,
): Promise<Descriptor> {
  return await layout.add(json({ schemaVersion: 2, mediaType: imageTypes.index, manifests, annotations: imageLabels(about) }), imageTypes.index);
}

function imageLabels({ version, epoch }: Pick<ImageInput, "version" | "epoch">): Record<string, string> {
  return {
    "org.opencontainers.image.title": "platform-ent",
    "org.opencontainers.image.description": "access platform: agent, and the controller that updates it",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.created": new Date(epoch * 1000).toISOString(),
  };
}
