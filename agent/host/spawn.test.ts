import { closeSync, openSync, readdirSync } from "node:fs";
import { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { capture } from "./capture.ts";
import { socketPair, spawn } from "./spawn.ts";

const limits = { limitMs: 10_000, maxBytes: 65_536 };
const shell = (script: string, more: Partial<typeof limits> = {}) => capture({ path: "/bin/sh", args: ["-c", script], ...limits, ...more });

test.for([
  ["exit 0", { code: 0, signal: null }],
  ["exit 7", { code: 7, signal: null }],
  ["exit 255", { code: 255, signal: null }],
  ["kill -9 $$", { code: null, signal: "SIGKILL" }],
  ["kill -15 $$", { code: null, signal: "SIGTERM" }],
  // A core is dumped or not: the signal is the same.
  ["ulimit -c 0; kill -11 $$", { code: null, signal: "SIGSEGV" }],
] as const)("the end of a program: %s", async ([script, exit]) => {
  expect(await shell(script)).toMatchObject(exit);
});

test("many programs that end at once are each reported, once", async () => {
  const ends = await Promise.all(Array.from({ length: 50 }, (_, number) => shell(`exit ${number}`)));
  expect(ends.map(({ code }) => code)).toEqual(Array.from({ length: 50 }, (_, number) => number));
});

test("a program gets exactly the given descriptors, at their numbers", async () => {
  const files = ["/dev/null", "/dev/zero", "/dev/full"].map((path) => openSync(path, "r+"));
  const [nothing = -1, zero = -1, full = -1] = files;
  const [ours, theirs] = socketPair();
  // Also a target number that is another one's source.
  const { exited } = spawn({ path: "/bin/ls", argv: ["ls", "-l", "/proc/self/fd"], env: {}, fds: [nothing, theirs, nothing, full, zero] });
  for (const fd of [...files, theirs]) closeSync(fd);
  const lines = (await text(new Socket({ fd: ours, writable: false }))).trim().split("\n").slice(1);
  const found = lines.map((line) => line.replace(/^.* (\d+) -> /, "$1 ").replace(/(socket|\/proc).*/, "$1"));
  // Descriptors that this process inherited without knowing are passed on.
  expect(found.filter((line) => Number.parseInt(line, 10) < 16).sort()).toEqual([
    "0 /dev/null",
    "1 socket",
    "2 /dev/null",
    "3 /dev/full",
    "4 /dev/zero",
    "5 /proc",
  ]);
  expect(await exited).toEqual({ code: 0, signal: null });
});

test("a program leads its session, and has no signal ignored or blocked", async () => {
  const { stdout } = await shell("grep ^Sig /proc/self/status; cut -d' ' -f1,6 /proc/$$/stat");
  expect(stdout).toMatch(/^SigBlk:\t0+$/m);
  // But for two that are glibc's own.
  expect(stdout).toMatch(/^SigIgn:\t0+(180000000|0)$/m);
  const [pid, sid] = stdout.trim().split("\n").at(-1)?.split(" ") ?? [];
  expect(sid).toBe(pid);
});

test("arguments and variables arrive as they are", async () => {
  const odd = ["", " ", "a\nb", "ä€😀", "$HOME", "x".repeat(100_000)];
  const [ours, theirs] = socketPair();
  const script = 'for one in "$@" "$ODD"; do printf "<%s>" "$one"; done';
  const { exited } = spawn({ path: "/bin/sh", argv: ["sh", "-c", script, "sh", ...odd], env: { ODD: "=ö=" }, fds: [0, theirs, 2] });
  closeSync(theirs);
  expect(await text(new Socket({ fd: ours, writable: false }))).toBe([...odd, "=ö="].map((one) => `<${one}>`).join(""));
  expect(await exited).toEqual({ code: 0, signal: null });
});

test("a program that cannot be started throws the reason, and leaves nothing open", async () => {
  await expect(shell("true")).resolves.toMatchObject({ code: 0 });
  const before = readdirSync("/proc/self/fd").length;
  await expect(capture({ path: "/no/such/program", args: [], ...limits })).rejects.toThrow("No such file or directory");
  await expect(capture({ path: "/etc/passwd", args: [], ...limits })).rejects.toThrow("Permission denied");
  await expect(capture({ path: "/bin/sh", args: ["a\0b"], ...limits })).rejects.toThrow("NUL");
  expect(() => spawn({ path: "/bin/true", argv: ["true"], env: {}, fds: [12_345] })).toThrow("Bad file descriptor");
  expect(() => spawn({ path: "/bin/true", argv: ["true"], env: {}, fds: Array.from({ length: 17 }, () => 0) })).toThrow("Invalid argument");
  expect(process.listenerCount("SIGCHLD")).toBe(0);
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
});

test("a program that takes too long or prints too much is killed with its children", async () => {
  await expect(shell("sleep 600 & echo $!; wait", { limitMs: 200 })).rejects.toThrow("within 0.2 s");
  await expect(shell("yes", { maxBytes: 10_000 })).rejects.toThrow("more than 10000 bytes");
});

test("Node's own children are not taken from it", async () => {
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  const [own, nodes] = await Promise.all([shell("sleep 0.1; exit 3"), promisify(execFile)("/bin/sh", ["-c", "echo theirs"])]);
  expect(own.code).toBe(3);
  expect(nodes.stdout).toBe("theirs\n");
});
