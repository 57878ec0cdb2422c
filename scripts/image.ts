import { createPrivateKey, type KeyObject } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildPrograms } from "./build/build-programs.ts";
import type { BuildArch } from "./build/build-target.ts";
import { ownVersion } from "./build/own-version.ts";
import { releaseTime } from "./build/release-time.ts";
import { basePackages, describePackages } from "./image/base-packages.ts";
import { checkSize } from "./image/check-size.ts";
import { type ImageInput, makeImage, makeIndex } from "./image/make-image.ts";
import { type Descriptor, imageTypes, OciLayout } from "./image/oci-layout.ts";
import { payloadType, signImage } from "./image/sign-image.ts";
import { tryForeign } from "./package/try-foreign.ts";

/*
 * image.ts [--version V] [--out DIR] [--arch x64,arm64] [--executable FILE] [--base DIR] [--fast] [--key FILE … [--passphrase-file FILE]] [--reference NAME]:
 * makes the image of the agent as an OCI layout in DIR, dist/packages/platform-ent-V.oci by default, signed if there is a key, by each if there are two
 * (docs/kubernetes-agents.md). Fails above 50 MB to download. Without a container engine. Needs tar, dpkg-deb, apt-get; for another architecture its cross tools. --fast compresses little, and allows any size. Times are SOURCE_DATE_EPOCH, or that of the last commit.
 */

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    version: { type: "string" },
    out: { type: "string" },
    arch: { type: "string", default: "x64,arm64" },
    executable: { type: "string" },
    base: { type: "string", default: join(root, ".cache/image-base") },
    fast: { type: "boolean", default: false },
    key: { type: "string", multiple: true },
    "passphrase-file": { type: "string" },
    reference: { type: "string", default: "platform-ent" },
  },
});
const version = values.version ?? (await ownVersion(root));
const epoch = await releaseTime(root);
const keys = await Promise.all((values.key ?? []).map(readKey));
const out = resolve(values.out ?? join(root, `dist/packages/platform-ent-${version}.oci`));
await mkdir(dirname(out), { recursive: true });
const work = await mkdtemp(`${out}-work-`);
try {
  const layout = await OciLayout.create(join(work, "layout"));
  const manifests: Descriptor[] = [];
  for (const arch of architectures(values.arch)) manifests.push(await makeFor(arch, layout));
  const index = await makeIndex(layout, manifests, { version, epoch });
  layout.tag(version, index);
  // The updater verifies the index; a pod's own digest, which cosign is asked for as well, is that of its architecture.
  if (keys.length > 0) for (const one of [index, ...manifests]) await addSignature(layout, one);
  await layout.save();
  await rm(out, { recursive: true, force: true });
  await rename(join(work, "layout"), out);
  process.stdout.write(`${version}: ${index.digest}${keys.length === 0 ? ", not signed" : ""}\n`);
} finally {
  await rm(work, { recursive: true, force: true });
}

async function makeFor(arch: BuildArch, layout: OciLayout): Promise<Descriptor> {
  const debs = await basePackages(arch, resolve(values.base));
  const programs = await programsFor(arch);
  const about = {
    arch,
    version,
    programs,
    debs,
    base: await describePackages(debs),
    packaging: join(root, "packaging"),
    work,
    epoch,
    fast: values.fast,
  };
  const descriptor = await makeImage(layout, about);
  const foreign = arch === process.arch ? "" : `; ${await tryForeign(arch, [programs.executable], version)}`;
  // With little compression it says nothing about the image that is published.
  const size = values.fast ? "" : `, ${await checkSize(layout, descriptor)} to download`;
  process.stdout.write(`${arch}: ${descriptor.digest}${size}${foreign}\n`);
  return descriptor;
}

/** Those that were given, with what lies beside them, or new ones. */
async function programsFor(arch: BuildArch): Promise<ImageInput["programs"]> {
  if (values.executable !== undefined) return { executable: resolve(values.executable), pty: join(dirname(resolve(values.executable)), "pty.node") };
  const dist = join(root, ".cache/packages", arch);
  await buildPrograms({ root, dist, version, arch });
  return { executable: join(dist, "platform"), pty: join(dist, "pty.node") };
}

async function addSignature(layout: OciLayout, { digest }: Descriptor): Promise<void> {
  const { tag, manifest, config, payload } = signImage({ digest, reference: values.reference, version }, keys);
  await layout.add(payload, payloadType);
  await layout.add(config, imageTypes.config);
  layout.tag(tag, await layout.add(manifest, imageTypes.manifest));
}

async function readKey(file: string): Promise<KeyObject> {
  const passphraseFile = values["passphrase-file"];
  const passphrase = passphraseFile === undefined ? undefined : (await readFile(passphraseFile, "utf8")).replace(/\n$/, "");
  try {
    return createPrivateKey({ key: await readFile(file), format: "pem", ...(passphrase !== undefined && { passphrase }) });
  } catch (cause) {
    throw new Error(`could not read the key ${file}: it must be PEM (PKCS #8 or SEC 1)${passphrase === undefined ? ", without a passphrase" : ""}`, {
      cause,
    });
  }
}

function architectures(text: string): readonly BuildArch[] {
  return text.split(",").map((word) => {
    if (word === "x64" || word === "arm64") return word;
    throw new Error(`${word} is none of x64, arm64`);
  });
}
