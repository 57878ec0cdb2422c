import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePasswd, type UnixUser } from "../../host/unix-user.ts";
import { isAcceptedVariable, sessionEnvironment } from "./session-environment.ts";
import { programOf } from "./start-program.ts";

const user: UnixUser = { login: "ann", uid: 1001, gid: 1001, home: "/home/ann", shell: "/usr/bin/zsh" };
const facts = { user, clientAddress: "192.0.2.1:5000", accepted: new Map<string, Buffer>(), loginDefs: "", sessionId: "s" };

test("a dash marks a login shell, and any command stays one word", () => {
  expect(programOf(user)).toEqual({ path: "/usr/bin/zsh", argv: ["-zsh"] });
  fc.assert(fc.property(fc.uint8Array(), (bytes) => Buffer.from(bytes).equals(programOf(user, Buffer.from(bytes)).argv[2] as Buffer)));
});

test.for([
  ["LANG", "C.UTF-8", true],
  ["LC_ALL", "", true],
  ["TZ", "Europe/Berlin", true],
  ["LD_PRELOAD", "/x.so", false],
  ["PATH", "/x", false],
  ["BASH_ENV", "/x", false],
  ["LC_X=Y", "1", false],
  ["LANG", "a\0b", false],
  ["LANG", "x".repeat(5000), false],
] as const)("variable %s=%s accepted: %s", ([name, value, accepted]) => {
  expect(isAcceptedVariable(name, Buffer.from(value), 0)).toBe(accepted);
});

test("the number and size of variables are limited", () => {
  expect(isAcceptedVariable("LANG", Buffer.from("C"), 64)).toBe(false);
});

test("no accepted variable replaces one of sshd's own", () => {
  const env = sessionEnvironment({
    ...facts,
    accepted: new Map([
      ["HOME", Buffer.from("/evil")],
      ["TZ", Buffer.from("UTC")],
    ]),
  });
  expect(env).toMatchObject({ HOME: "/home/ann", TZ: Buffer.from("UTC"), LOGNAME: "ann", SHELL: "/usr/bin/zsh", SSH_CLIENT: "192.0.2.1 5000 22" });
  expect(env).not.toHaveProperty("SSH_TTY");
});

test("paths come from login.defs, with a different one for root", () => {
  const loginDefs = "# ENV_PATH PATH=/no\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH        /usr/bin:/bin\n";
  expect(sessionEnvironment({ ...facts, loginDefs }).PATH).toBe("/usr/bin:/bin");
  expect(sessionEnvironment({ ...facts, loginDefs, user: { ...user, uid: 0 } }).PATH).toBe("/sbin:/bin");
});

test.for([
  ["xterm-256color", "xterm-256color"],
  ["", "dumb"],
  ["a b; rm", "dumb"],
] as const)("terminal kind %j becomes %s", ([kind, expected]) => {
  expect(sessionEnvironment({ ...facts, terminal: { path: "/dev/pts/1", kind } })).toMatchObject({ TERM: expected, SSH_TTY: "/dev/pts/1" });
});

test("an IPv6 client is shown without its brackets; an invalid address is left out", () => {
  expect(sessionEnvironment({ ...facts, clientAddress: "[2001:db8::1]:7" }).SSH_CLIENT).toBe("2001:db8::1 7 22");
  expect(sessionEnvironment({ ...facts, clientAddress: "" })).not.toHaveProperty("SSH_CLIENT");
});

test.for([
  ["ann:x:1001:1002:Ann:/home/ann:/bin/bash", { login: "ann", uid: 1001, gid: 1002, home: "/home/ann", shell: "/bin/bash" }],
  ["ann:x:1001:1002:::", { login: "ann", uid: 1001, gid: 1002, home: "/", shell: "/bin/sh" }],
  ["bob:x:1001:1002::/:/bin/sh", undefined],
  ["ann:x:-1:1002::/:/bin/sh", undefined],
  ["ann:x:4294967295:1002::/:/bin/sh", undefined],
  ["ann:x:1001:1002::/", undefined],
] as const)("passwd line %s", ([line, expected]) => {
  expect(parsePasswd(`${line}\n`, "ann")).toEqual(expected);
});
