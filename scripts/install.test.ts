import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasProgram } from "../test/world/has-program.ts";
import { cleanEnv } from "../test/world/program.ts";

const file = join(import.meta.dirname, "install.sh");
const script = readFileSync(file, "utf8");
const good = ["1.0.0", "enterprise", "--proxy", "access.example.com:443"];
/** Whatever looks at the system, changes it or asks the network. */
const acting = [
  "apt-get",
  "dpkg",
  "dpkg-query",
  "dnf",
  "yum",
  "zypper",
  "rpm",
  "curl",
  "wget",
  "mktemp",
  "mkdir",
  "cp",
  "mv",
  "rm",
  "sudo",
  "id",
  "uname",
];
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "platform-install-"));
  for (const name of acting) writeFileSync(join(dir, name), `#!/bin/sh\necho "${name} $*" >>${dir}/log\nexit 1\n`, { mode: 0o755 });
});

afterAll(() => rmSync(dir, { recursive: true }));

function sh(args: readonly string[], shell = "sh", env: Record<string, string> = {}) {
  return spawnSync(shell, args, { encoding: "utf8", env: cleanEnv(env) });
}

test.skipIf(!hasProgram("shellcheck"))("shellcheck has nothing to say", () => {
  expect(spawnSync("shellcheck", [file], { encoding: "utf8" }).stdout).toBe("");
});

test("the proxy's address can be filled in, and is then no longer needed as an argument", () => {
  writeFileSync(join(dir, "filled.sh"), script.replace("\nPLATFORM_PROXY=''\n", "\nPLATFORM_PROXY='proxy.example.com:8443'\n"));
  expect(sh([join(dir, "filled.sh"), "1.2.3", "oss"]).stderr).toContain("second argument");
  expect(sh([file, "1.2.3", "cloud"]).stderr).toContain("--proxy HOST:PORT");
  const run = sh([join(dir, "filled.sh"), "1.2.3", "cloud"], "sh", { PATH: `${dir}:${cleanEnv().PATH}` });
  expect(run.stderr).toContain("is not supported");
});

describe.each(["sh", "bash"].filter(hasProgram))("cut off in the middle, read by %s", (shell) => {
  const whole = Buffer.byteLength(script);
  const cuts = [
    ...Array.from({ length: Math.floor(whole / 200) }, (_, index) => index * 200),
    ...Array.from({ length: 12 }, (_, index) => whole - 13 + index),
  ];

  test("it does nothing, wherever the cut is", { timeout: 60_000 }, () => {
    const bytes = readFileSync(file);
    for (const cut of cuts.filter((at) => at < whole - 1)) {
      writeFileSync(join(dir, "cut.sh"), bytes.subarray(0, cut));
      rmSync(join(dir, "log"), { force: true });
      sh([join(dir, "cut.sh"), ...good], shell, { PATH: `${dir}:${cleanEnv().PATH}` });
      expect({ cut, did: logged() }).toEqual({ cut, did: "" });
    }
  });

  test("whole, it does act: the check above can see it", () => {
    rmSync(join(dir, "log"), { force: true });
    sh([file, ...good], shell, { PATH: `${dir}:${cleanEnv().PATH}` });
    expect(logged()).toContain("uname");
  });
});

function logged(): string {
  try {
    return readFileSync(join(dir, "log"), "utf8");
  } catch {
    return "";
  }
}

test.for([
  [[], "first argument must be a version such as 1.2.3"],
  [["latest", "cloud"], 'not "latest"'],
  [["1.2", "cloud"], "first argument must be a version"],
  [["1.2.3; reboot", "cloud"], "first argument must be a version"],
  [["1.2.3\n4.5.6", "cloud"], "first argument must be a version"],
  [["1.2.3"], "second argument must be cloud or enterprise"],
  [["1.2.3", "oss"], 'not "oss"'],
  [["1.2.3", "cloud", "more"], "one argument too many: more"],
  [["1.2.3", "cloud", "--force"], "there is no option --force"],
  [["1.2.3", "cloud", "--proxy"], "--proxy needs a value"],
  [["1.2.3", "cloud"], "where from?"],
  [["1.2.3", "cloud", "--proxy=user:secret@host:443"], "--proxy must be HOST or HOST:PORT"],
  [["1.2.3", "cloud", "--proxy=host/path"], "--proxy must be HOST or HOST:PORT"],
  [["1.2.3", "cloud", "--repository=http://host/packages"], "--repository must be https://"],
  [["1.2.3", "cloud", "--repository=https://user:secret@host/packages"], "without user, password or query"],
  [["1.2.3", "cloud", "--repository=https://host/a b"], "--repository must be https://"],
  [["1.2.3", "cloud", "--proxy=host", "--ca=/nowhere"], "/nowhere is no readable PEM file"],
  [["1.2.3", "cloud", "--proxy=host", "--key-fingerprint=12345"], "40 hexadecimal digits"],
] as const)("%j is refused with words and status 2", ([args, words]) => {
  const run = sh([file, ...args]);
  expect(run).toMatchObject({ status: 2, stdout: "" });
  expect(run.stderr).toContain(words);
  expect(run.stderr).not.toContain("secret");
});

test("every status that it exits with is in its help", () => {
  const help = sh([file, "--help"]);
  expect(help.status).toBe(0);
  const documented = new Set(
    [...help.stdout.slice(help.stdout.indexOf("exit status:")).matchAll(/(?<![\d.])(\d+) [a-z]/g)].map(([, status]) => status),
  );
  const used = new Set([...script.matchAll(/\bfail (\d+) /g)].map(([, status]) => status));
  expect([...used].filter((status) => !documented.has(status))).toEqual([]);
  expect([...documented].filter((status) => status !== "0" && !used.has(status))).toEqual([]);
});

test("without root, sudo and doas it says so", () => {
  const path = mkdtempSync(join(tmpdir(), "platform-path-"));
  for (const name of ["sed", "grep", "wc", "uname", "getconf", "tr", "printf", "curl", "apt-get", "cat", "head"]) {
    writeFileSync(join(path, name), `#!/bin/sh\nPATH=/usr/bin:/bin exec ${name} "$@"\n`, { mode: 0o755 });
  }
  writeFileSync(join(path, "id"), "#!/bin/sh\necho 1000\n", { mode: 0o755 });
  const run = spawnSync("/bin/sh", [file, ...good], { encoding: "utf8", env: { PATH: path } });
  rmSync(path, { recursive: true });
  expect(run.stderr).toContain("this must run as root");
  expect(run.status).toBe(4);
});
