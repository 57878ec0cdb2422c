import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { HostLabels, type LabelCommand, runLabelCommand } from "./host-labels.ts";

const sh = (line: string): readonly string[] => ["/bin/sh", "-c", line];

let dir: string;
let end: AbortController;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-labels-"));
  end = new AbortController();
});
afterEach(async () => {
  end.abort();
  await rm(dir, { recursive: true, force: true });
});

test("the value is the command's output without surrounding white space", async () => {
  expect(await runLabelCommand(sh("printf '  web 7\\n\\n'"), 5000)).toBe("web 7");
});

test.for<readonly [why: string, line: string, message: string]>([
  ["fails", "echo half; exit 3", "exit status 3"],
  ["is killed", "kill -9 $$", "ended by SIGKILL"],
  ["prints two lines", "printf 'a\\nb'", "one line"],
  ["prints a long line", "head -c 300 /dev/zero | tr '\\0' x", "up to 256"],
  ["prints without end", "yes", "more than 4096"],
])("a command that %s does not yield a value", async ([, line, message]) => {
  await expect(runLabelCommand(sh(line), 20_000)).rejects.toThrow(message);
});

test("a missing command does not yield a value", async () => {
  await expect(runLabelCommand(["/no/such/command"], 5000)).rejects.toThrow("could not run it");
});

test("a command that hangs is ended with all that it started", async () => {
  const file = join(dir, "pid");
  await expect(runLabelCommand(sh(`sleep 300 & echo $! >${file}; wait`), 1500)).rejects.toThrow("did not end within 1.5 s");
  const pid = Number(await readFile(file, "utf8"));
  await expect.poll(async () => await stateOf(pid), { timeout: 10_000 }).toMatch(/^[ZX]|^gone/);
});

async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") gone");
  return stat.slice(stat.lastIndexOf(")") + 2);
}

function open(commands: readonly LabelCommand[], changed: (labels: Labels) => void = () => {}): Promise<HostLabels> {
  return HostLabels.open({ fixed: { env: "dev" }, commands, log: silentLog, changed }, end.signal);
}

test("the first values are there from the start; one that fails leaves its label out", async () => {
  const labels = await open([
    { name: "kernel", command: sh("echo 6"), period: 60 },
    { name: "broken", command: sh("exit 1"), period: 60 },
  ]);
  expect(labels.current).toEqual({ env: "dev", kernel: "6" });
});

test("a changed value is reported once, and a command that fails later keeps the last one", async () => {
  const file = join(dir, "value");
  await writeFile(file, "one");
  const told: Labels[] = [];
  const labels = await open([{ name: "role", command: ["/bin/cat", file], period: 1 }], (now) => told.push(now));
  await writeFile(file, "two");
  await expect.poll(() => told, { timeout: 10_000 }).toEqual([{ env: "dev", role: "two" }]);
  const ran = join(dir, "ran");
  await rm(file);
  const failing = await open([{ name: "role", command: sh(`echo >>${ran}; cat ${file}`), period: 1 }]);
  await expect.poll(async () => (await readFile(ran, "utf8")).length, { timeout: 10_000 }).toBeGreaterThan(1);
  expect(failing.current).toEqual({ env: "dev" });
  expect(labels.current).toEqual({ env: "dev", role: "two" });
});
