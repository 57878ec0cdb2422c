import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inCluster, isInCluster } from "./in-cluster.ts";

const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "6443" };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "in-cluster-"));
  await writeFile(join(folder, "token"), "first.token\n");
  await writeFile(join(folder, "ca.crt"), "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
  await writeFile(join(folder, "namespace"), "platform");
});

afterEach(async () => await rm(folder, { recursive: true }));

test("a pod finds its API server, namespace and credentials", async () => {
  const found = await inCluster(env, { folder });
  expect(found).toMatchObject({ host: "10.96.0.1", port: 6443, namespace: "platform" });
  expect(await found.credentials()).toEqual({ token: "first.token", caPem: expect.stringContaining("BEGIN CERTIFICATE") });
  expect(await inCluster({ KUBERNETES_SERVICE_HOST: "[fd00::1]" }, { folder })).toMatchObject({ host: "fd00::1", port: 443 });
});

test("the token is read again after a minute, and once for all who ask", async () => {
  let now = 0;
  const found = await inCluster(env, { folder, steady: () => now });
  await writeFile(join(folder, "token"), "second.token");
  now = 59_000;
  expect((await found.credentials()).token).toBe("first.token");
  now = 60_000;
  const [one, other] = await Promise.all([found.credentials(), found.credentials()]);
  expect(one.token).toBe("second.token");
  expect(other).toBe(one);
});

test("the credentials before stay in use while the files cannot be read", async () => {
  let now = 0;
  const found = await inCluster(env, { folder, steady: () => now });
  now = 61_000;
  await writeFile(join(folder, "token"), "");
  expect((await found.credentials()).token).toBe("first.token");
  await rm(join(folder, "token"));
  expect((await found.credentials()).token).toBe("first.token");
  await writeFile(join(folder, "token"), "third.token");
  expect((await found.credentials()).token).toBe("third.token");
});

test("outside a pod, and without a service account, it is refused with what to do", async () => {
  expect(isInCluster({})).toBe(false);
  await expect(inCluster({}, { folder })).rejects.toMatchObject({ code: "invalid", hint: expect.stringContaining("kubeconfig") });
  await expect(inCluster(env, { folder: join(folder, "none") })).rejects.toMatchObject({
    code: "invalid",
    hint: expect.stringContaining("automount"),
  });
});

test.each([
  ["a port that is none", { ...env, KUBERNETES_SERVICE_PORT: "70000" }],
  ["a host with a path", { ...env, KUBERNETES_SERVICE_HOST: "evil/api" }],
])("%s is refused", async (_, bad) => {
  await expect(inCluster(bad, { folder })).rejects.toMatchObject({ code: "invalid" });
});

test("a token that would be two header lines is refused", async () => {
  await writeFile(join(folder, "token"), "one\r\nX-Remote-User: admin");
  await expect(inCluster(env, { folder })).rejects.toMatchObject({ code: "invalid" });
});
