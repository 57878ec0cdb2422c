import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readPublicKeys, verifyImageSignature } from "../../core/kubernetes/image-signature.ts";
import { packChart } from "../../scripts/chart/pack-chart.ts";
import { basePackages } from "../../scripts/image/base-packages.ts";
import { checkMachine } from "../../scripts/image/check-machine.ts";
import { makeImage, makeIndex } from "../../scripts/image/make-image.ts";
import { type Descriptor, imageTypes, OciLayout } from "../../scripts/image/oci-layout.ts";
import { payloadType, signImage } from "../../scripts/image/sign-image.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { hasProgram } from "../world/has-program.ts";
import { helm } from "../world/kubernetes/kubectl.ts";
import { output, program, run } from "../world/program.ts";
import { long } from "../world/rounds.ts";
import { makeTestKey } from "../world/stand-in-packages.ts";

/** Image and chart of Kubernetes agents: made twice, signed, published, and fetched from the proxy by stock skopeo and helm. */

const missing = ["skopeo", "gpg", "apt-ftparchive", "createrepo_c", "rpmsign", "dpkg-deb"].filter((name) => !hasProgram(name));
beforeEach(({ skip }) => skip(missing.length > 0, `needs ${missing.join(", ")}`));

const root = resolve(import.meta.dirname, "../..");
const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
const theirs = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pemOf = ({ publicKey }: typeof ours): string => publicKey.export({ type: "spki", format: "pem" }).toString();
const epoch = 1_700_000_000;

/** An address of this machine that is not a loopback one: a registry there would be asked without TLS by helm. */
const outer = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

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
  cluster = await startCluster({ address: outer ?? "127.0.0.1", proxyService: `  packages_dir: ${join(dir, "repository")}\n` });
  ca = join(dir, "certs/ca.crt");
  await mkdir(join(dir, "certs"));
  await writeFile(ca, (await output("curl", ["-ks", `https://${cluster.proxy}/webapi/auth/export?type=tls-host`])).toString());
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  if (dir !== "") await rm(dir, { recursive: true, force: true });
});

/** An image of both architectures with a small program; its digest. */
async function image(out: string, version: string): Promise<string> {
  const work = await mkdtemp(join(dir, "work-"));
  const layout = await OciLayout.create(out);
  const manifests: Descriptor[] = [];
  for (const arch of ["x64", "arm64"] as const) {
    const programs = { executable: join(work, `platform-${arch}`), pty: join(work, "pty.node") };
    await writeFile(programs.executable, `#!/bin/false\n${version} for ${arch}\n`);
    await writeFile(programs.pty, "");
    const debs = await basePackages(arch, join(root, ".cache/image-base"));
    const about = { arch, version, programs, debs, base: `test ${arch}`, packaging: join(root, "packaging"), work, epoch, fast: true };
    manifests.push(await makeImage(layout, about));
  }
  const index = await makeIndex(layout, manifests, { version, epoch });
  layout.tag(version, index);
  for (const one of [index, ...manifests]) {
    const { tag, manifest, config, payload } = signImage({ digest: one.digest, reference, version }, [ours.privateKey]);
    await layout.add(payload, payloadType);
    await layout.add(config, imageTypes.config);
    layout.tag(tag, await layout.add(manifest, imageTypes.manifest));
  }
  await layout.save();
  return index.digest;
}

const reference = "registry.example.com/platform-ent";

const skopeo = (args: readonly string[], architecture = "amd64") => run("skopeo", ["--insecure-policy", "--override-arch", architecture, ...args]);

describe("the image", () => {
  test("made again, it is the same", async () => {
    expect(await image(join(dir, "again"), "1.0.0")).toBe(digest);
  });

  test("of the built executable, made twice as for a release, is the same, and small enough", { timeout: 600_000 }, async ({ skip }) => {
    skip(!long, "runs in `make test-long`");
    const arch = process.arch === "arm64" ? "arm64" : "x64";
    const make = async (name: string): Promise<string> => {
      const about = ["--arch", arch, "--version", "1.0.0", "--executable", program("platform"), "--out", join(dir, name)];
      return await output(process.execPath, [join(root, "scripts/image.ts"), ...about], { limitMs: 300_000 });
    };
    const first = await make("real-1");
    expect(first).toMatch(/^\w+: sha256:[0-9a-f]{64}, [\d.]+ MB to download\n1\.0\.0: sha256:[0-9a-f]{64}, not signed\n$/);
    expect(await make("real-2")).toBe(first);
    const bytes = await Promise.all((await readdir(join(dir, "real-2/blobs/sha256"))).map((name) => stat(join(dir, "real-2/blobs/sha256", name))));
    expect(bytes.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(50_000_000);
  });

  test.for([
    ["amd64", "x64"],
    ["arm64", "arm64"],
  ] as const)("skopeo finds it at the proxy for %s, with the user and the read-only needs of the chart", async ([architecture, arch]) => {
    const at = ["--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent:1.0.0`];
    const shown = await skopeo(["inspect", ...at], architecture);
    expect(shown.stderr).toBe("");
    expect(JSON.parse(shown.stdout)).toMatchObject({ Digest: digest, Architecture: architecture, Os: "linux" });
    const { config } = JSON.parse((await skopeo(["inspect", "--config", ...at], architecture)).stdout);
    expect(config).toMatchObject({ User: "9807:9807", Entrypoint: ["/usr/bin/platform"], Labels: { "dev.platform.base-packages": `test ${arch}` } });
  });

  test("skopeo copies it for arm64, with the program and the C library of that architecture", async () => {
    const to = join(dir, "arm64");
    const copied = await skopeo(["copy", "--src-cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent:1.0.0`, `dir:${to}`], "arm64");
    expect(copied.status, copied.stderr).toBe(0);
    const { layers } = JSON.parse(await readFile(join(to, "manifest.json"), "utf8")) as { layers: { digest: string }[] };
    const unpacked = join(dir, "arm64-root");
    await mkdir(unpacked);
    for (const layer of layers) await output("tar", ["-C", unpacked, "-xzf", join(to, layer.digest.replace("sha256:", ""))]);
    expect(await readFile(join(unpacked, "usr/bin/platform"), "utf8")).toContain("1.0.0 for arm64");
    expect(await checkMachine(unpacked, "arm64")).toBeGreaterThan(5);
  });

  test("the proxy lists its versions and signatures", async () => {
    const tags = JSON.parse((await skopeo(["list-tags", "--cert-dir", join(dir, "certs"), `docker://${cluster.proxy}/platform-ent`])).stdout);
    // Signed are the index and the image of each architecture.
    expect(tags.Tags).toHaveLength(4);
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
    const tool = await helm();
    const env = { HELM_CACHE_HOME: join(dir, "helm/cache"), HELM_CONFIG_HOME: join(dir, "helm/config"), HELM_DATA_HOME: join(dir, "helm/data") };
    const to = await mkdtemp(join(dir, "chart-"));
    await output(tool, ["repo", "add", "access", `https://${cluster.proxy}/packages/charts`, "--ca-file", ca], { env });
    const pull = ["pull", "access/platform-kube-agent", "--version", "1.0.0", "--ca-file", ca, "--destination", to];
    const pulled = await run(tool, [...pull, "--verify", "--keyring", join(dir, "keyring.gpg")], { env });
    expect(pulled.status, pulled.stderr).toBe(0);
    expect(pulled.stdout).toContain("Signed by");
    expect(
      (await run(tool, ["lint", join(to, "platform-kube-agent-1.0.0.tgz"), "--strict", "--set", "proxyAddr=a:1,kubeClusterName=b,authToken=c"]))
        .status,
    ).toBe(0);
  });

  test("helm pulls it from the registry, too, verifies it, and renders it from there", async ({ skip }) => {
    skip(outer === undefined, "needs an address other than a loopback one");
    const tool = await helm();
    const to = await mkdtemp(join(dir, "oci-chart-"));
    const env = { HOME: to, SSL_CERT_FILE: ca };
    const place = `oci://${cluster.proxy}/charts/platform-kube-agent`;
    const options = ["--version", "1.0.0", "--verify", "--keyring", join(dir, "keyring.gpg")];
    const pulled = await run(tool, ["pull", place, ...options, "--destination", to], { env });
    expect(pulled.status, pulled.stderr).toBe(0);
    expect(pulled.stdout + pulled.stderr).toContain("Signed by");
    const values = ["--set", "proxyAddr=a:1,kubeClusterName=b,authToken=c", "--kube-version", "1.20.2"];
    const shown = await run(tool, ["template", "agent", place, "--version", "1.0.0", ...values], { env });
    expect(shown.status, shown.stderr).toBe(0);
    expect(shown.stdout).toContain('image: "a:1/platform-ent:1.0.0"');
  });

  test("its layers in the registry have helm's types", async () => {
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
