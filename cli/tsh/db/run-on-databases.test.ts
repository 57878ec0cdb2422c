import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import { runOnDatabases } from "./run-on-databases.ts";

let bin = "";
beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "platform-run-on-"));
});
afterAll(async () => await rm(bin, { recursive: true }));

/** Connects to the tunnel and begins, as psql does, in bash's own way: a start of nine bytes, for version 3.0, without parameters. */
const dialing = `port=\${1#*port=}; port=\${port%% *}; exec 3<>/dev/tcp/127.0.0.1/$port; printf '\\0\\0\\0\\11\\0\\3\\0\\0\\0' >&3; read -r -u 3 -t 10; echo "ended"; exit 2`;

const script = async (text: string): Promise<void> => {
  await writeFile(join(bin, "psql"), `#!/bin/bash\n${text}\n`);
  await chmod(join(bin, "psql"), 0o755);
};
const makeCall = () => {
  const io = memoryIo({ PATH: `${bin}:/usr/bin:/bin` });
  io.stdout.on("error", () => {});
  const call: Call = { io, args: [], options: noOptions };
  return { io, call };
};
const source = { current: () => Promise.reject(new PlatformError("denied", "access denied: no role", { hint: "ask for one" })) };
const target = (name: string) => ({ name, protocol: "postgres", names: { user: "reader", name: "" } });
const ask = { sql: "select 1", source, parallel: 1, isPrefixed: true, folder: undefined };

test("why a database could not be reached stands with its own lines, printed or in its file", async () => {
  await script(dialing);
  const { io, call } = makeCall();
  expect(await runOnDatabases(call, [target("orders")], ask)).toEqual({
    outcomes: [{ name: "orders", protocol: "postgres", status: 2 }],
    isInterrupted: false,
    lost: undefined,
  });
  expect(io.out()).toBe("[orders] ended\n");
  expect(io.err()).toBe("[orders] ERROR: access denied: no role\n[orders] ask for one\n");
  const file = join(bin, "orders.out");
  const saved = await runOnDatabases(call, [target("orders")], { ...ask, folder: bin });
  expect(saved.outcomes).toEqual([{ name: "orders", protocol: "postgres", status: 2, file }]);
  expect(await readFile(file, "utf8")).toBe("ERROR: access denied: no role\nask for one\nended\n");
});

test("without a reader no more databases are started, like a shell's pipeline", async () => {
  await script("echo lines; exit 0");
  const { call } = makeCall();
  const failure = Object.assign(new Error("write"), { code: "EPIPE" });
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(failure) }).on("error", () => {});
  const { outcomes, lost } = await runOnDatabases({ ...call, io: { ...call.io, stdout } }, ["a", "b", "c"].map(target), ask);
  expect(lost).toBe(failure);
  expect(outcomes.map(({ name }) => name)).toEqual(["a"]);
});

test("a file that could not be written is a failure, although the client succeeded and its statements ran to their end", async () => {
  await script(`head -c 1000000 /dev/zero; echo done > ${join(bin, "ran")}; exit 0`);
  const { call } = makeCall();
  await symlink("/dev/full", join(bin, "full.out"));
  const { outcomes } = await runOnDatabases(call, [target("full")], { ...ask, folder: bin });
  expect(outcomes).toMatchObject([{ name: "full", status: 9, error: expect.stringContaining("ENOSPC") }]);
  expect(await readFile(join(bin, "ran"), "utf8")).toBe("done\n");
});

test("a failure of one does not keep the others from running, in order, several at a time", async () => {
  await script("exit 0");
  const { call } = makeCall();
  const targets = [target("a"), { ...target("b"), protocol: "redis" }, target("c")];
  const { outcomes } = await runOnDatabases(call, targets, { ...ask, parallel: 3 });
  expect(outcomes.map(({ name, status }) => [name, status])).toEqual([
    ["a", 0],
    ["b", 11],
    ["c", 0],
  ]);
  const lost = await runOnDatabases(call, [target("a")], { ...ask, folder: join(bin, "none") });
  expect(lost.outcomes[0]).toMatchObject({ status: 9, error: expect.stringContaining("could not write") });
});
