import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changeKubeconfig, readKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { loginEdit, ownContexts } from "./kubeconfig/own-entries.ts";
import { writeTunnelKubeconfig } from "./tunnel-kubeconfig.ts";

const cluster = "example.com";
const pair = { certificate: "CERT", privateKey: "KEY" };
const tunnel = (port: number, kubes: readonly string[]) => ({
  address: `127.0.0.1:${port}`,
  certificates: { server: pair, clients: new Map(kubes.map((kube) => [kube, pair])) },
});
const written = (path: string, kubes: readonly string[], port = 8443) =>
  writeTunnelKubeconfig({ path, cluster, contexts: kubes.map((kube) => ({ kube })), select: kubes[0] }, tunnel(port, kubes));
const kubesIn = async (path: string) => ownContexts(await readKubeconfig(path)).map(({ kube }) => kube);
const minikube = `apiVersion: v1
kind: Config
clusters:
- name: minikube
  cluster: {server: "https://192.168.49.2:8443"}
current-context: minikube
`;
const login = { cluster, kube: "prod", server: { server: "https://proxy" }, user: { exec: { command: "tsh" } } };

test("a kubeconfig of its own exists as long as the local port", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-tunnel-kubeconfig-"));
  const path = join(folder.path, "kube", "config");
  const file = await written(path, ["prod", "test"]);
  expect(await kubesIn(path)).toEqual(["prod", "test"]);
  await file[Symbol.asyncDispose]();
  expect(await readdir(join(folder.path, "kube"))).toEqual([]);
});

const others: readonly (readonly [title: string, fill: (path: string) => Promise<unknown>])[] = [
  ["entries of somebody else", async (path) => await writeFile(path, minikube)],
  ["a login of tsh", async (path) => await changeKubeconfig(path, (config) => loginEdit(config, [login], "prod"))],
  [
    "the port of another cluster",
    async (path) => await changeKubeconfig(path, (config) => loginEdit(config, [{ ...login, cluster: "b", user: {} }], "prod")),
  ],
];

test.for(others)("a file with %s is refused, and stays", async ([, fill]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-tunnel-kubeconfig-"));
  const path = join(folder.path, "config");
  await fill(path);
  const before = await readFile(path, "utf8");
  await expect(written(path, ["prod"])).rejects.toMatchObject({ code: "already_exists" });
  expect([await readFile(path, "utf8"), await readdir(folder.path)]).toEqual([before, ["config"]]);
});

test("what a killed command left is replaced, and goes", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-tunnel-kubeconfig-"));
  const path = join(folder.path, "config");
  await written(path, ["old", "prod"]);
  const file = await written(path, ["prod"], 8444);
  expect(await kubesIn(path)).toEqual(["prod"]);
  await file[Symbol.asyncDispose]();
  expect(await readdir(folder.path)).toEqual([]);
});

test("entries that came to the file stay, and so do those of a later command", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-tunnel-kubeconfig-"));
  const path = join(folder.path, "config");
  const first = await written(path, ["prod", "test"]);
  const second = await written(path, ["prod"], 8444);
  await changeKubeconfig(path, (config) => loginEdit(config, [{ ...login, cluster: "b" }], undefined));
  await first[Symbol.asyncDispose]();
  expect((await readKubeconfig(path)).contexts.map(({ name }) => name)).toEqual(["example.com-prod", "b-prod"]);
  await second[Symbol.asyncDispose]();
  expect((await readKubeconfig(path)).contexts.map(({ name }) => name)).toEqual(["b-prod"]);
});

test("a file without entries stays a file", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-tunnel-kubeconfig-"));
  const path = join(folder.path, "config");
  await writeFile(path, "# mine\n");
  const file = await written(path, ["prod"]);
  await file[Symbol.asyncDispose]();
  expect(await readFile(path, "utf8")).toContain("# mine\n");
});
