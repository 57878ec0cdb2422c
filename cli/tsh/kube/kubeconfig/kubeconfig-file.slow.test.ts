import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtempDisposable, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rounds } from "../../../../test/world/rounds.ts";
import { changeKubeconfig, kubeconfigPaths, readKubeconfig } from "./kubeconfig-file.ts";
import { loginEdit, logoutEdit } from "./own-entries.ts";

const foreign = `# mine\nkind: Config\nclusters:\n- name: other\n  cluster: {server: "https://other"}\n`;
const kube = (name: string) => ({
  cluster: "example.com",
  kube: name,
  server: { server: `https://proxy/${name}` },
  user: { token: "x".repeat(50_000) },
});

test("KUBECONFIG is a list: the first file is written", () => {
  expect(kubeconfigPaths({ KUBECONFIG: "/a::/b:/a" })).toEqual(["/a", "/b"]);
  expect(kubeconfigPaths({ KUBECONFIG: "", HOME: "/home/ada" })).toEqual(["/home/ada/.kube/config"]);
});

test("a file is made with its folder, for its owner alone, and waits for kubectl's lock", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kubeconfig-"));
  const path = join(folder.path, "new", "config");
  await changeKubeconfig(path, (config) => loginEdit(config, [kube("prod")], "prod"));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await chmod(path, 0o644);
  await writeFile(`${path}.lock`, "", { mode: 0 });
  const waiting = changeKubeconfig(path, (config) => logoutEdit(config, "example.com"));
  await rm(`${path}.lock`);
  expect(await waiting).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await readKubeconfig(path)).contexts).toEqual([]);
});

test("what is not UTF-8, or not a kubeconfig, stays as it is", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kubeconfig-"));
  const path = join(folder.path, "config");
  for (const bytes of [Buffer.from([0xff, 0x0a]), Buffer.from("clusters: 7\n")]) {
    await writeFile(path, bytes);
    await expect(changeKubeconfig(path, (config) => loginEdit(config, [kube("prod")], "prod"))).rejects.toMatchObject({ code: "invalid" });
    expect(await readFile(path)).toEqual(bytes);
  }
});

const writer = `
const [, , path, file] = process.argv;
const { changeKubeconfig } = await import(file + "/kubeconfig-file.ts");
const { loginEdit, logoutEdit } = await import(file + "/own-entries.ts");
const kube = (name) => ({ cluster: "example.com", kube: name, server: { server: "https://proxy/" + name }, user: { token: "x".repeat(50_000) } });
process.send("ready");
for (;;) {
  await changeKubeconfig(path, (config) => loginEdit(config, [kube("a"), kube("b")], "a"));
  await changeKubeconfig(path, (config) => logoutEdit(config, "example.com"));
}
`;

test(
  "a writer that is killed at any moment leaves a whole file, and no lock that stops the next one",
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kubeconfig-"));
    const path = join(folder.path, "config");
    await writeFile(path, foreign);
    const script = join(folder.path, "writer.mjs");
    await writeFile(script, writer);
    for (let round = 0; round < rounds(1_000, 8); round += 1) {
      const child = spawn(process.execPath, [script, path, import.meta.dirname], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
      await once(child, "message");
      // Some part of a write later: by its own clock, which no other event marks.
      await new Promise((resolve) => setTimeout(resolve, (round * 7) % 40));
      child.kill("SIGKILL");
      await once(child, "exit");
      const { clusters, contexts } = await readKubeconfig(path);
      expect(clusters[0]).toEqual({ name: "other", cluster: { server: "https://other" } });
      expect([0, 2]).toContain(contexts.length);
      await changeKubeconfig(path, (config) => logoutEdit(config, "example.com"));
    }
    expect(await readFile(path, "utf8")).toMatch(/^# mine\nkind: Config\nclusters:\n- name: other\n {2}cluster: \{server: "https:\/\/other"\}\n/);
  },
  rounds(1_800_000, 180_000),
);
