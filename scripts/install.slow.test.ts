import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
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
  [["1.2.3", "cloud", "more"], "unexpected argument: more"],
  [["1.2.3", "cloud", "--force"], "unknown option --force"],
  [["1.2.3", "cloud", "--proxy"], "--proxy requires a value"],
  [["1.2.3", "cloud"], "no repository given"],
  [["auto", "cloud"], "no version given"],
  [["cloud"], "no version given"],
  [["enterprise", "cloud", "--proxy=host"], 'not "enterprise"'],
  [["auto"], "second argument must be cloud or enterprise"],
  [["1.2.3", "cloud", "--proxy=user:secret@host:443"], "--proxy must be HOST or HOST:PORT"],
  [["1.2.3", "cloud", "--proxy=host/path"], "--proxy must be HOST or HOST:PORT"],
  [["1.2.3", "cloud", "--repository=http://host/packages"], "--repository must be https://"],
  [["1.2.3", "cloud", "--repository=https://user:secret@host/packages"], "without user, password or query"],
  [["1.2.3", "cloud", "--repository=https://host/a b"], "--repository must be https://"],
  [["1.2.3", "cloud", "--proxy=host", "--ca=/nowhere"], "/nowhere is not a readable PEM file"],
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

describe("a repository's key", () => {
  /** A version 4 key packet; nobody looks at what it holds. */
  const packet = (name: string): Buffer => {
    const body = Buffer.concat([Buffer.from([4]), Buffer.from(name.padEnd(60, "."))]);
    return Buffer.concat([Buffer.from([0x99, 0, body.length]), body]);
  };
  const fingerprint = (key: Buffer): string => createHash("sha1").update(key).digest("hex");
  const [good, evil] = [packet("good"), packet("evil")];
  const [first, last] = ["-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"];
  const wrapped = (bytes: Buffer): string => bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  const block = (bytes: Buffer, blank = "\n"): string => `${first}\n${blank}${wrapped(bytes)}\n=abcd\n${last}\n`;

  /** What `get_key` makes of what the repository gives, where only `good` is to be taken. */
  function take(text: string | Buffer) {
    const folder = mkdtempSync(join(dir, "key-"));
    writeFileSync(join(folder, "came"), text);
    writeFileSync(join(folder, "functions.sh"), script.replace('\nmain "$@"\n', "\n"));
    const steps = `. ${folder}/functions.sh; LC_ALL=C repository=R temp=${folder} fingerprints=" ${fingerprint(good)}"; fetch() { cp ${folder}/came "$2"; }; get_key`;
    const run = sh(["-c", steps]);
    return { status: run.status, said: run.stderr, written: readFileSync(join(folder, "key.asc"), "latin1") };
  }

  test.for([
    ["as gpg writes it", block(good)],
    ["with lines that end in CR LF", block(good).replaceAll("\n", "\r\n")],
    ["with headers", block(good, "Version: GnuPG v2\nComment: ours\n\n")],
    ["without a check sum", block(good).replace("=abcd\n", "")],
  ] as const)("%s is taken, and exactly its bytes are written", ([, text]) => {
    const taken = take(text);
    expect(taken).toMatchObject({ status: 0, said: "" });
    const [head, blank, ...lines] = taken.written.split("\n");
    expect([head, blank]).toEqual([first, ""]);
    expect(
      Buffer.from(
        lines
          .slice(
            0,
            lines.findIndex((line) => line.startsWith("=") || line === last),
          )
          .join(""),
        "base64",
      ),
    ).toEqual(good);
  });

  test.for([
    ["a second block", block(good) + block(evil)],
    ["a second block whose blank line is CR CR, as rpm takes it", block(good) + block(evil, "\r\r\n")],
    ["a second block whose blank line is a space, as gpg takes it", block(good) + block(evil, " \n")],
    ["a second block whose blank line is a tab", block(good) + block(evil, "\t\n")],
    ["words before it", `hello\n${block(good)}`],
    ["words after it", `${block(good)}hello\n`],
    ["a NUL", Buffer.from(block(good).replace("=abcd", "=ab\0d"), "latin1")],
    ["a block of another kind behind it", block(good) + block(evil).replaceAll("PUBLIC KEY BLOCK", "MESSAGE")],
    ["lines behind the padding", block(good).replace("=abcd", wrapped(evil))],
    ["no end", block(good).replace(`${last}\n`, "")],
    ["nothing in it", `${first}\n\n${last}\n`],
    ["a second key in the block", block(Buffer.concat([good, evil]))],
    ["a second key behind something that is not a packet", block(Buffer.concat([good, Buffer.from([0x01]), evil]))],
    ["a second key in a packet of another kind", block(Buffer.concat([good, Buffer.from([0xa3, 1]), evil]))],
    ["a packet that is longer than the key", block(Buffer.concat([good, Buffer.from([0xc2, 0xff, 0, 1, 0, 0])]))],
    ["a packet of unknown length", block(Buffer.concat([good, Buffer.from([0x8b]), evil]))],
    ["a packet in parts", block(Buffer.concat([good, Buffer.from([0xc2, 0xe1, 1]), evil]))],
    ["another key", block(evil)],
  ] as const)("with %s is refused", ([, text]) => {
    expect(take(text)).toMatchObject({ status: text.includes("PGP") && !String(text).startsWith("hello") ? 3 : 9 });
  });
});

test.for([
  ["v1.2.3", ["enterprise"], 0, "the cluster's channel default wants 1.2.3", "1.2.3 stable/v1 1.2.3"],
  ["2.0.0-rc.1\n", ["auto", "cloud"], 0, "the cluster's channel stable/cloud wants 2.0.0-rc.1", "2.0.0-rc.1 stable/cloud 2.0.0~rc.1"],
  ["none", ["enterprise"], 5, "wants no version right now", ""],
  ["<html>log in</html>", ["auto", "enterprise"], 9, "is not a version", ""],
  ["v9.9.9", ["1.2.3", "enterprise"], 0, "", "1.2.3 stable/v1 1.2.3"],
] as const)("the channel's %j for %j: status %d", ([said, args, status, words, settled]) => {
  const folder = mkdtempSync(join(dir, "auto-"));
  writeFileSync(join(folder, "said"), said);
  writeFileSync(join(folder, "functions.sh"), script.replace('\nmain "$@"\n', "\n"));
  const steps = `. ${folder}/functions.sh; temp=${folder}; get() { echo "$1" >${folder}/url; cp ${folder}/said "$2"; }
    parse_arguments ${args.join(" ")} --proxy=access.test:443; check_arguments; settle_version; echo "$version $channel $native"`;
  const run = sh(["-c", steps]);
  expect({ status: run.status, out: run.stdout.trim() }).toEqual({ status, out: settled });
  expect(run.stderr).toContain(words);
  if (words !== "")
    expect(readFileSync(join(folder, "url"), "utf8")).toMatch(
      /^https:\/\/access\.test:443\/v1\/webapi\/automaticupgrades\/channel\/(default|stable\/cloud)\/version\n$/,
    );
});
