import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/world/until.ts";
import type { Call, Options } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import { placeFile } from "../../place-file.ts";
import { backup } from "./backup.ts";

let dir: string;
let target: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "backup-"));
  target = join(dir, "target");
  mkdirSync(target);
  mkdirSync(join(dir, "data", "auth"), { recursive: true });
  const database = new DatabaseSync(join(dir, "data", "auth", "state.sqlite"));
  database.exec("create table keys (secret text); insert into keys values ('of the cluster')");
  database.close();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function callFor(name: string): Call {
  const values: Readonly<Record<string, string>> = { dataDir: join(dir, "data"), config: join(dir, "platform.yaml") };
  const options: Options = { ...noOptions, text: (option) => values[option] };
  writeFileSync(join(dir, "platform.yaml"), "platform: {}\n", { flag: "a" });
  return { io: memoryIo(), args: [join(target, name)], options };
}

/** What a killed backup has left. */
function leftover(name: string): string {
  const path = join(target, name);
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "0"), "keys");
  writeFileSync(join(path, "archive"), "keys");
  return path;
}

/** A process of this number has ended. */
const ended = (): number => spawnSync("true").pid;

test("an archive with a copy of the database, and nothing beside it", async () => {
  await backup(callFor("a.tar.gz"));
  expect(readdirSync(target)).toEqual(["a.tar.gz"]);
  expect(statSync(join(target, "a.tar.gz")).mode & 0o777).toBe(0o600);
  const listed = spawnSync("tar", ["-tzf", join(target, "a.tar.gz")], { encoding: "utf8" });
  expect(listed.stdout).toContain("data/auth/state.sqlite\n");
});

/** A backup in a process of its own, which waits for a file of the archive. */
async function waitingBackup(): Promise<ChildProcess> {
  const pipe = join(dir, "pipe");
  spawnSync("mkfifo", [pipe]);
  symlinkSync(pipe, join(dir, "key"));
  writeFileSync(join(dir, "platform.yaml"), `proxy_service: { key_file: ${join(dir, "key")} }\n`);
  const { args } = callFor("a.tar.gz");
  const here = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    const { backup } = await import(${here("backup.ts")});
    const { writeError } = await import(${here("../../output.ts")});
    const values = ${JSON.stringify({ dataDir: join(dir, "data"), config: join(dir, "platform.yaml") })};
    const { stdin, stdout, stderr } = process;
    const io = { env: {}, stdin, stdout, stderr };
    const call = { io, args: ${JSON.stringify(args)}, options: { text: (name) => values[name] } };
    await backup(call).catch((thrown) => process.exit(writeError(io, thrown)));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", "pipe"] });
  await until("it writes the archive", () => readdirSync(target).some((name) => existsSync(join(target, name, "archive"))) || undefined);
  return child;
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s leaves nothing behind", async (signal) => {
  const child = await waitingBackup();
  try {
    const exit = once(child, "exit");
    child.kill(signal);
    expect(await exit).toEqual([null, signal]);
  } finally {
    child.kill("SIGKILL");
  }
  expect(readdirSync(target)).toEqual([]);
});

test("one that is stopped and cannot remove its folder, as on NFS, states first that it was stopped, and then what is left", async () => {
  const child = await waitingBackup();
  try {
    const [part = ""] = readdirSync(target);
    // NFS has such a file for one that was removed while it was open.
    writeFileSync(join(target, part, ".nfs0000000000000001"), "");
    const exit = once(child, "exit");
    let printed = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      printed += chunk;
    });
    child.kill("SIGTERM");
    await until("it states what is left", () => printed.includes("remove it yourself") || undefined);
    // Node ends once its threads are back from opening it.
    closeSync(openSync(join(dir, "pipe"), constants.O_RDWR | constants.O_NONBLOCK));
    expect([await exit, printed]).toEqual([
      [9, null],
      expect.stringMatching(/^ERROR: stopped by SIGTERM\nERROR: the clean-up failed too: could not remove .*\.part: ENOTEMPTY.*\nremove it yourself/),
    ]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("what killed backups with other names have left goes with the next one into the folder", async () => {
  leftover(`.tctl-backup.${hostname()}.${ended()}.part`);
  const old = leftover(".tctl-backup.elsewhere.1.part");
  const dayAgo = Date.now() / 1000 - 25 * 60 * 60;
  for (const path of [join(old, "0"), join(old, "archive"), old]) utimesSync(path, dayAgo, dayAgo);
  // Of a process that lives, and of another host.
  leftover(`.tctl-backup.${hostname()}.${process.ppid}.part`);
  leftover(".tctl-backup.elsewhere.2.part");
  await backup(callFor("b.tar.gz"));
  expect(readdirSync(target).sort()).toEqual([".tctl-backup.elsewhere.2.part", `.tctl-backup.${hostname()}.${process.ppid}.part`, "b.tar.gz"].sort());
});

test("links and folders of others with such a name, and other files in one, stay", async () => {
  const theirs = join(dir, "theirs");
  mkdirSync(theirs, { mode: 0o700 });
  writeFileSync(join(theirs, "archive"), "theirs");
  symlinkSync(theirs, join(target, `.tctl-backup.${hostname()}.${ended()}.part`));
  const open = leftover(`.tctl-backup.${hostname()}.${ended()}.part`);
  spawnSync("chmod", ["0777", open]);
  const more = leftover(`.tctl-backup.${hostname()}.${ended()}.part`);
  writeFileSync(join(more, "mine.txt"), "");
  mkdirSync(join(more, "1"));
  await backup(callFor("a.tar.gz"));
  expect(readdirSync(theirs)).toEqual(["archive"]);
  expect(readdirSync(open).sort()).toEqual(["0", "archive"]);
  expect(readdirSync(more)).toContain("mine.txt");
});

test.runIf(process.getuid?.() === 0)("root removes nothing of another user", async () => {
  const theirs = leftover(`.tctl-backup.${hostname()}.${ended()}.part`);
  chownSync(theirs, 65_534, 65_534);
  await backup(callFor("a.tar.gz"));
  expect(readdirSync(theirs).sort()).toEqual(["0", "archive"]);
});

test("on a file system without hard links a finished file gets its name too, and replaces nothing", async () => {
  const noLinks = async (): Promise<never> => {
    throw Object.assign(new Error("operation not permitted"), { code: "EPERM" });
  };
  const made = join(dir, "made");
  writeFileSync(made, "whole");
  await placeFile(made, join(target, "a"), noLinks);
  expect([existsSync(made), statSync(join(target, "a")).size]).toEqual([false, 5]);
  writeFileSync(made, "other");
  await expect(placeFile(made, join(target, "a"), noLinks)).rejects.toMatchObject({ code: "EEXIST" });
  expect(statSync(made).size).toBe(5);
  await expect(placeFile(join(dir, "missing"), join(target, "b"), noLinks)).rejects.toMatchObject({ code: "ENOENT" });
  expect(readdirSync(target)).toEqual(["a"]);
});
