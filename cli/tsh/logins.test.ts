import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { memoryIo } from "../memory-io.ts";
import { saveProfile } from "../profile/save-profile.ts";
import { profileOf } from "../profile/testing/profile-of.ts";
import { runProgram } from "../run-program.ts";
import { changeKubeconfig, readKubeconfig } from "./kube/kubeconfig/kubeconfig-file.ts";
import { loginEdit } from "./kube/kubeconfig/own-entries.ts";
import { tsh } from "./tsh.ts";

let home = "";
beforeEach(async () => {
  home = join(await mkdtemp(join(tmpdir(), "platform-logins-")), "tsh");
});
afterEach(async () => {
  await rm(join(home, ".."), { recursive: true });
});

const login = profileOf({ proxy: { host: "p", port: 3080 } });

test("contexts of kubectl that stay are a failure of the logout; the keys go", async () => {
  await saveProfile(home, login, "line");
  const io = memoryIo({ TSH_HOME: home, HOME: home, KUBECONFIG: join(home, "..") });
  expect(await runProgram(tsh, ["logout"], io)).toBe(1);
  expect([io.out(), io.err()]).toEqual([
    "Logged out of p:3080.\n",
    expect.stringMatching(/^The contexts of kubectl are still there: .* is not a file/),
  ]);
  expect(await readdir(home)).toEqual([]);
});

test("a damaged name of the current profile keeps no key from being removed, and goes too", async () => {
  await saveProfile(home, login, "line");
  await saveProfile(home, profileOf({ proxy: { host: "q", port: 3080 } }), "line");
  const current = join(home, "current");
  await writeFile(current, "../elsewhere\n");
  const io = memoryIo({ TSH_HOME: home, HOME: home });
  expect([await runProgram(tsh, ["logout"], io), io.out(), io.err()]).toEqual([0, "Logged out of p:3080, q:3080.\n", ""]);
  expect(await readdir(home)).toEqual([]);
  await writeFile(current, "");
  const again = memoryIo({ TSH_HOME: home, HOME: home });
  expect([await runProgram(tsh, ["logout"], again), again.out(), await readdir(home)]).toEqual([0, "Nobody was logged in.\n", []]);
});

test("a kubeconfig that cannot be read is named, and the contexts in the others go", async () => {
  await saveProfile(home, login, "line");
  const [broken, good] = [join(home, "..", "broken"), join(home, "..", "good")];
  const context = (cluster: string) => ({ cluster, kube: "prod", server: { server: "https://prod" }, user: {} });
  const contextsIn = async (path: string) => (await readKubeconfig(path)).contexts.map(({ name }) => name);
  await writeFile(broken, "clusters: 7\n");
  await changeKubeconfig(good, (config) => loginEdit(config, [context("test"), context("other")], "prod"));
  const io = memoryIo({ TSH_HOME: home, HOME: home, KUBECONFIG: `${broken}:${good}` });
  expect(await runProgram(tsh, ["logout"], io)).toBe(1);
  expect([io.out(), io.err()]).toEqual(["Logged out of p:3080.\n", expect.stringMatching(/^The contexts of kubectl are still there: .*broken.*\n$/)]);
  expect(await contextsIn(good)).toEqual(["other-prod"]);
});

test("the contexts of kubectl that a damaged profile may have left are named", async () => {
  await saveProfile(home, login, "line");
  await writeFile(join(home, "p_3080", "profile.json"), "{");
  const config = join(home, "..", "config");
  const context = { cluster: "test", kube: "prod", server: { server: "https://prod" }, user: {} };
  await changeKubeconfig(config, (kubeconfig) => loginEdit(kubeconfig, [context], "prod"));
  const io = memoryIo({ TSH_HOME: home, HOME: home, KUBECONFIG: config });
  expect([await runProgram(tsh, ["logout"], io), io.out()]).toEqual([1, "Logged out of p:3080.\n"]);
  expect(io.err()).toBe(
    "The profile p:3080 was damaged, and this context of kubectl may be from it: test-prod; if no other login has written it, remove it with: kubectl config delete-context test-prod\n",
  );
});

test("a logout removes what an interrupted first login left", async () => {
  await mkdir(join(home, ".p_3080.0123456789ab"), { recursive: true });
  await writeFile(join(home, ".p_3080.0123456789ab", "tls.key"), "KEY");
  const io = memoryIo({ TSH_HOME: home, HOME: home });
  expect([await runProgram(tsh, ["logout"], io), io.out()]).toEqual([0, "Logged out of p:3080.\n"]);
  expect(await readdir(home)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)("keys that cannot be removed are a failure that names their folder, not a fault of the program", async () => {
  await saveProfile(home, login, "line");
  const here = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  // As another user, who may read all of it and change nothing.
  const script = `
    const { chmodSync, chownSync } = await import("node:fs");
    const { runProgram } = await import(${here("../run-program.ts")});
    const { tsh } = await import(${here("tsh.ts")});
    for (const file of [${here("logins.ts")}, ${here("db/forget-databases.ts")}, ${here("kube/kube-login.ts")}]) await import(file);
    process.chdir(${JSON.stringify(home)});
    for (const path of [".", "p_3080", "p_3080/profile.json", "current"]) {
      chownSync(path, 0, 65534);
      chmodSync(path, 0o750);
    }
    process.setgroups([]);
    process.setgid(65534);
    process.setuid(65534);
    const { stdin, stdout, stderr } = process;
    process.exitCode = await runProgram(tsh, ["logout"], { env: { TSH_HOME: ".", HOME: "." }, stdin, stdout, stderr });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  const [printed, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect([status, printed, errors]).toEqual([1, "", expect.stringMatching(/^p:3080: could not remove p_3080: EACCES.*; remove it yourself/)]);
});
