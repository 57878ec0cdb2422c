import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { imageKey, OciRegistry } from "../../../test/world/oci-registry.ts";
import { checkImage } from "./check-image.ts";
import { RegistryReader } from "./registry.ts";
import { credentialsFor, parseChallenge, parseManifest, parseToken, platformOfConfig } from "./registry-answers.ts";

const [key, other, third] = [imageKey(), imageKey(), imageKey()];
let registry: OciRegistry;

beforeAll(async () => {
  registry = await new OciRegistry().listen();
});
afterAll(async () => await registry[Symbol.asyncDispose]());
beforeEach(() => {
  registry.fault = undefined;
  registry.wantsToken = undefined;
  registry.redirectsBlobs = false;
});

interface Checked {
  readonly keys?: readonly (typeof key)[] | undefined;
  readonly dockerConfig?: string;
  readonly platform?: string;
}

async function check(tag: string, { keys = [key, other], dockerConfig = "", platform = "linux/amd64" }: Checked = {}) {
  const signal = AbortSignal.timeout(registry.fault === "silent" ? 300 : 20_000);
  await using reader = new RegistryReader({ env: {}, ca: undefined, plain: [registry.host], dockerConfig: async () => dockerConfig, signal });
  return await checkImage(`${registry.host}/p:${tag}`, { registry: reader, keys: keys.map(({ publicKey }) => publicKey), platform });
}

function publish(
  tag: string,
  signature: Partial<Parameters<OciRegistry["sign"]>[2]> | "none" = {},
  more: Parameters<OciRegistry["publish"]>[2] = {},
): string {
  const digest = registry.publish("p", tag, more);
  if (signature !== "none") registry.sign("p", digest, { key, version: tag, ...signature });
  return digest;
}

test("a signed image is good, with the digest of its index", async () => {
  const digest = publish("1.0.0");
  expect(await check("1.0.0")).toEqual({ kind: "good", digest });
});

test("signed by the second key of a rotation, it is good; by a third one, it is refused", async () => {
  publish("1.0.1", { key: other });
  expect(await check("1.0.1")).toMatchObject({ kind: "good" });
  publish("1.0.2", { key: third });
  expect(await check("1.0.2")).toMatchObject({ kind: "refused", detail: expect.stringContaining("another key") });
});

test("an unsigned image, a signature of another digest and one of another version are refused", async () => {
  publish("1.1.0", "none");
  expect(await check("1.1.0")).toMatchObject({ kind: "refused", detail: expect.stringContaining("is not signed") });
  publish("1.1.1", { digest: `sha256:${"0".repeat(64)}` });
  expect(await check("1.1.1")).toMatchObject({ kind: "refused" });
  publish("1.1.2", { version: "1.0.0" });
  expect(await check("1.1.2")).toMatchObject({ kind: "refused", detail: expect.stringContaining("1.0.0") });
});

test("a missing image is missing; a registry that fails, refuses or is silent says nothing about it", async () => {
  expect(await check("9.9.9")).toMatchObject({ kind: "missing" });
  publish("1.2.0");
  for (const fault of [429, 500, 503, 302] as const) {
    registry.fault = fault;
    expect(await check("1.2.0"), String(fault)).toMatchObject({ kind: "unknown", isDenied: false, detail: expect.stringContaining(String(fault)) });
  }
  registry.fault = 403;
  const detail = expect.stringMatching(/status 403 .*updater\.pullSecret.*imagePullSecrets/);
  expect(await check("1.2.0")).toMatchObject({ kind: "unknown", isDenied: true, detail });
  registry.fault = "silent";
  expect(await check("1.2.0")).toMatchObject({ kind: "unknown" });
  expect(
    await checkImage("127.0.0.1:1/p:1.0.0", {
      registry: { manifest: () => Promise.reject(new Error("refused")), blob: () => Promise.reject(new Error("x")) },
      keys: [],
      platform: "x",
    }),
  ).toMatchObject({
    kind: "unknown",
  });
});

test("an index without this platform, and a single image for another one, do not count as there", async () => {
  publish("1.3.0", {}, { platforms: ["linux/arm64"] });
  expect(await check("1.3.0")).toMatchObject({ kind: "missing", detail: expect.stringContaining("linux/amd64, only for linux/arm64") });
  publish("1.3.1", {}, { platforms: ["linux/arm64"], isIndex: false });
  expect(await check("1.3.1")).toMatchObject({ kind: "missing", detail: expect.stringContaining("linux/arm64") });
  publish("1.3.2", {}, { platforms: ["linux/amd64"], isIndex: false });
  expect(await check("1.3.2")).toMatchObject({ kind: "good" });
});

test("a token is fetched where the registry wants one, with credentials where it wants those", async () => {
  publish("1.4.0");
  registry.wantsToken = "anonymous";
  expect(await check("1.4.0")).toMatchObject({ kind: "good" });
  registry.wantsToken = "user:secret";
  expect(await check("1.4.0")).toMatchObject({ kind: "unknown", isDenied: true, detail: expect.stringContaining("updater.pullSecret") });
  for (const status of [429, 503]) {
    registry.tokenStatus = status;
    expect(await check("1.4.0"), String(status)).toMatchObject({
      kind: "unknown",
      isDenied: false,
      detail: expect.stringContaining(`status ${status}`),
    });
  }
  registry.tokenStatus = undefined;
  const dockerConfig = JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from("user:secret").toString("base64") } } });
  expect(await check("1.4.0", { dockerConfig })).toMatchObject({ kind: "good" });
});

test("blobs that are handed out from elsewhere are followed, without the registry's token", async () => {
  publish("1.5.0");
  registry.redirectsBlobs = true;
  registry.wantsToken = "anonymous";
  expect(await check("1.5.0")).toMatchObject({ kind: "good" });
  expect(registry.requests.at(-1)).toMatch(/^\/elsewhere\/v2\/p\/blobs\/sha256:/);
});

test.for([
  [
    'Bearer realm="https://auth.example.com/token",service="r",scope="repository:p:pull"',
    "https://auth.example.com/token",
    "service=r&scope=repository%3Ap%3Apull",
  ],
  ['bearer Realm="https://auth.example.com/token"', "https://auth.example.com/token", ""],
] as const)("%s is a demand for a token", ([header, realm, query]) => {
  expect(parseChallenge(header)).toEqual({ scheme: "bearer", realm, query });
});

test("any answer of a registry is read, or is nothing", () => {
  const docker = fc.record({ auths: fc.dictionary(fc.constantFrom("r", "docker.io", "__proto__"), fc.jsonValue()) });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        docker.map((one) => JSON.stringify(one)),
        fc.string().map((text) => `Bearer realm="${text}"`),
      ),
      (text) => {
        const challenge = parseChallenge(text);
        if (challenge?.scheme === "bearer") expect(URL.canParse(challenge.realm)).toBe(true);
        expect(parseToken(text) ?? "x").toMatch(/^[\x21-\x7e]+$/);
        expect(["index", "image", "unknown"]).toContain(parseManifest(text).kind);
        platformOfConfig(text);
        credentialsFor("r", text);
        credentialsFor("docker.io", text);
      },
    ),
  );
});
