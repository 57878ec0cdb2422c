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
  expect(await runProgram(tsh, ["logout"], io)).toBe(2);
  expect([io.out(), io.err()]).toEqual([
    "Logged out of p:3080.\n",
    expect.stringMatching(/^The contexts of kubectl are still there: .* is not a file/),
  ]);
  expect(await readdir(home)).toEqual([]);
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
  expect([status, printed, errors]).toEqual([2, "", expect.stringMatching(/^p:3080: could not remove p_3080: EACCES.*; remove it yourself/)]);
});
