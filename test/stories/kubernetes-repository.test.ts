import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readPublicKeys, verifyImageSignature } from "../../core/kubernetes/image-signature.ts";
import { packChart } from "../../scripts/chart/pack-chart.ts";
import { basePackages } from "../../scripts/image/base-packages.ts";
import { makeImage, makeIndex } from "../../scripts/image/make-image.ts";
import { imageTypes, OciLayout } from "../../scripts/image/oci-layout.ts";
import { payloadType, signImage } from "../../scripts/image/sign-image.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { hasProgram } from "../world/has-program.ts";
import { helm } from "../world/kubernetes/kubectl.ts";
import { output, run } from "../world/program.ts";
import { makeTestKey } from "../world/stand-in-packages.ts";

/** Image and chart of Kubernetes agents: made twice, signed, published, and fetched from the proxy by stock skopeo and helm. */

const missing = ["skopeo", "gpg", "apt-ftparchive", "createrepo_c", "rpmsign", "dpkg-deb"].filter((name) => !hasProgram(name));
beforeEach(({ skip }) => skip(missing.length > 0, `needs ${missing.join(", ")}`));

const root = resolve(import.meta.dirname, "../..");
const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
const theirs = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pemOf = ({ publicKey }: typeof ours): string => publicKey.export({ type: "spki", format: "pem" }).toString();
const epoch = 1_700_000_000;

let dir = "";
let cluster: Cluster;
let digest = "";
let ca = "";
beforeAll(async () => {
  if (missing.length > 0) return;
  dir = await mkdtemp(join(tmpdir(), "platform-kube-repository-"));
  const packages = join(dir, "packages");
  await mkdir(packages);
  digest = await image(join(packages, "platform-ent-1.0.0.oci"), "1.0.0");
  await image(join(packages, "platform-ent-1.1.0-rc.1.oci"), "1.1.0-rc.1");
  await packChart({ source: join(root, "charts/platform-kube-agent"), out: packages, version: "1.0.0", epoch });
  const gnupghome = join(dir, "gnupg");
  await makeTestKey(gnupghome, "Packages");
  const publish = (from: string | undefined) =>
    publishRepository({ out: join(dir, "repository"), keys: { gnupghome }, now: new Date(), ...(from !== undefined && { packages: from }) });
  expect((await publish(packages)).left).toEqual(["platform-ent-1.1.0-rc.1.oci"]);
  // A later publication takes everything over.
  await publish(undefined);
  await output("gpg", ["--homedir", gnupghome, "--output", join(dir, "keyring.gpg"), "--export"]);
  await output("gpgconf", ["--homedir", gnupghome, "--kill", "all"]);
  cluster = await startCluster({ proxyService: `  packages_dir: ${join(dir, "repository")}\n` });
  ca = join(dir, "certs/ca.crt");
  await mkdir(join(dir, "certs"));
  await writeFile(ca, (await output("curl", ["-ks", `https://${cluster.proxy}/webapi/auth/export?type=tls-host`])).toString());
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  if (dir !== "") await rm(dir, { recursive: true, force: true });
});

/** An image with a small program; its digest. */
async function image(out: string, version: string): Promise<string> {
  const work = await mkdtemp(join(dir, "work-"));
  const [executable, pty] = [join(work, "platform"), join(work, "pty.node")];
  await writeFile(executable, `#!/bin/false\n${version}\n`);
  await writeFile(pty, "");
  const debs = await basePackages("x64", join(root, ".cache/image-base"));
  const layout = await OciLayout.create(out);
  const programs = { executable, pty };
  const about = { arch: "x64", version, programs, debs, base: "test", packaging: join(root, "packaging"), work, epoch, fast: true } as const;
  const made = await makeImage(layout, about);
  const index = await makeIndex(layout, [made], about);
  layout.tag(version, index);
  for (const one of [index, made]) {
    const { tag, manifest, config, payload } = signImage({ digest: one.digest, reference, version }, [ours.privateKey]);
    await layout.add(payload, payloadType);
    await layout.add(config, imageTypes.config);
    layout.tag(tag, await layout.add(manifest, imageTypes.manifest));
  }
  await layout.save();
  return index.digest;
}

const reference = "registry.example.com/platform-ent";

const skopeo = (args: readonly string[]) => run("skopeo", ["--insecure-policy", ...args]);

describe("the image", () => {
  test("made again, it is the same", async () => {
    expect(await image(join(dir, "again"), "1.0.0")).toBe(digest);
  });

  test("skopeo finds it at the proxy, with the user and the read-only needs of the chart", async () => {
    const shown = await skopeo(["inspect", "--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent:1.0.0`]);
    expect(shown.stderr).toBe("");
    expect(JSON.parse(shown.stdout)).toMatchObject({ Digest: digest, Architecture: "amd64", Os: "linux" });
    const config = await skopeo(["inspect", "--config", "--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent:1.0.0`]);
    expect(JSON.parse(config.stdout).config).toMatchObject({ User: "9807:9807", Entrypoint: ["/usr/bin/platform"] });
    const tags = JSON.parse((await skopeo(["list-tags", "--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent`])).stdout);
    expect(tags.Tags).toHaveLength(3);
    expect(tags.Tags).toEqual(expect.arrayContaining(["1.0.0", `${digest.replace(":", "-")}.sig`]));
  });

  test.for([
    ["our key", pemOf(ours), 0],
    ["another key", pemOf(theirs), 1],
  ] as const)("openssl verifies the signature as cosign lays it out, with %s", async ([, pem, status]) => {
    const shown = await skopeo([
      "inspect",
      "--raw",
      "--cert-dir",
      join(dir, "certs"),
      `docker://${cluster.proxy}/platform-ent:${digest.replace(":", "-")}.sig`,
    ]);
    const [layer] = (JSON.parse(shown.stdout) as { layers: [{ digest: string; annotations: Record<string, string> }] }).layers;
    const [key, payload, signature] = [join(dir, "image.pub"), join(dir, "payload"), join(dir, "signature")];
    await writeFile(key, pem);
    await writeFile(signature, Buffer.from(layer.annotations["dev.cosignproject.cosign/signature"] ?? "", "base64"));
    await output("curl", ["-sf", "--cacert", ca, "-o", payload, `https://${cluster.proxy}/v2/platform-ent/blobs/${layer.digest}`]);
    expect(JSON.parse(await readFile(payload, "utf8")).critical.image["docker-manifest-digest"]).toBe(digest);
    expect((await run("openssl", ["dgst", "-sha256", "-verify", key, "-signature", signature, payload])).status).toBe(status);
  });

  test("our own verifier accepts what the proxy serves, for this image and version only", async () => {
    const get = async (path: string): Promise<Buffer> => {
      const file = join(dir, "got");
      await output("curl", ["-sf", "--cacert", ca, "-o", file, `https://${cluster.proxy}/v2/platform-ent/${path}`]);
      return await readFile(file);
    };
    const manifest = await get(`manifests/${digest.replace(":", "-")}.sig`);
    const keys = readPublicKeys(pemOf(theirs) + pemOf(ours));
    const signed = { digest, version: "1.0.0", manifest, keys, blob: (one: string) => get(`blobs/${one}`) };
    await verifyImageSignature(signed);
    await expect(verifyImageSignature({ ...signed, version: "1.0.1" })).rejects.toMatchObject({ code: "denied" });
    await expect(verifyImageSignature({ ...signed, digest: `sha256:${"0".repeat(64)}` })).rejects.toMatchObject({ code: "denied" });
    await expect(verifyImageSignature({ ...signed, keys: readPublicKeys(pemOf(theirs)) })).rejects.toMatchObject({ code: "denied" });
  });

  test("a key of another kind signs nothing", () => {
    const rsa = createPrivateKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(() => signImage({ digest, reference, version: "1.0.0" }, [rsa])).toThrow(/P-256/);
  });
});

describe("the chart", () => {
  test("helm finds it at the proxy, and verifies who packed it", async () => {
    const program = await helm();
    const env = { HELM_CACHE_HOME: join(dir, "helm/cache"), HELM_CONFIG_HOME: join(dir, "helm/config"), HELM_DATA_HOME: join(dir, "helm/data") };
    const to = await mkdtemp(join(dir, "chart-"));
    await output(program, ["repo", "add", "access", `https://${cluster.proxy}/packages/charts`, "--ca-file", ca], { env });
    const pull = ["pull", "access/platform-kube-agent", "--version", "1.0.0", "--ca-file", ca, "--destination", to];
    const pulled = await run(program, [...pull, "--verify", "--keyring", join(dir, "keyring.gpg")], { env });
    expect(pulled.status, pulled.stderr).toBe(0);
    expect(pulled.stdout).toContain("Signed by");
    expect(
      (await run(program, ["lint", join(to, "platform-kube-agent-1.0.0.tgz"), "--strict", "--set", "proxyAddr=a:1,kubeClusterName=b,authToken=c"]))
        .status,
    ).toBe(0);
  });

  test("it is in the registry too, where newer versions of helm look", async () => {
    const raw = await skopeo(["inspect", "--raw", "--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/charts/platform-kube-agent:1.0.0`]);
    expect(JSON.parse(raw.stdout)).toMatchObject({
      config: { mediaType: "application/vnd.cncf.helm.config.v1+json" },
      layers: [
        { mediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip" },
        { mediaType: "application/vnd.cncf.helm.chart.provenance.v1.prov" },
      ],
    });
  });
});
