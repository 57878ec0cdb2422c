import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { LoginKeeper } from "./login.ts";
import { readCredential, runPlugin } from "./run-plugin.ts";

const { signal } = new AbortController();
const apiVersion = "client.authentication.k8s.io/v1";
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "login-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

/** A plugin that runs this script. */
function plugin(script: string) {
  return { apiVersion, command: process.execPath, args: ["-e", script], env: [{ name: "GIVEN", value: "from-the-file" }] };
}

function printed(status: object): string {
  return JSON.stringify({ apiVersion, kind: "ExecCredential", status });
}

test("a token in a file is read again as it ages, and when it was refused, but not for each refusal", async () => {
  let now = 0;
  const file = join(folder, "token");
  await writeFile(file, "first\n");
  const keeper = new LoginKeeper({ account: { kind: "token", token: { file } } }, { env: {}, signal, steady: () => now });
  expect(await keeper.current()).toEqual({ token: "first" });
  await writeFile(file, "second");
  now = 59_000;
  expect(await keeper.current()).toEqual({ token: "first" });
  now = 61_000;
  expect(await keeper.current()).toEqual({ token: "second" });
  await writeFile(file, "third");
  keeper.refused();
  expect(await keeper.current()).toEqual({ token: "third" });
  await writeFile(file, "two\r\nlines: x");
  keeper.refused();
  expect(await keeper.current()).toEqual({ token: "third" });
  now = 67_000;
  keeper.refused();
  await expect(keeper.current()).rejects.toMatchObject({ code: "unavailable" });
});

test("a token in a file that cannot be read for a while is kept, unless the API server refuses it", async () => {
  let now = 0;
  const file = join(folder, "kept-token");
  await writeFile(file, "first");
  const keeper = new LoginKeeper({ account: { kind: "token", token: { file } } }, { env: {}, signal, steady: () => now });
  expect(await keeper.current()).toEqual({ token: "first" });
  await rm(file);
  now = 61_000;
  expect(await keeper.current()).toEqual({ token: "first" });
  now = 300_000;
  expect(await keeper.current()).toEqual({ token: "first" });
  await writeFile(file, "second");
  now = 304_000;
  expect(await keeper.current()).toEqual({ token: "first" });
  now = 305_000;
  expect(await keeper.current()).toEqual({ token: "second" });
  await rm(file);
  keeper.refused();
  await expect(keeper.current()).rejects.toMatchObject({ code: "unavailable" });
  await expect(keeper.current()).rejects.toMatchObject({ code: "unavailable" });
  await writeFile(file, "third");
  expect(await keeper.current()).toEqual({ token: "third" });
});

test("a plugin that fails leaves its credentials in use until they expire", async () => {
  let [now, steady] = [Date.now(), 0];
  const broken = join(folder, "broken");
  const end = new Date(now + 600_000).toISOString();
  const script = `if (require("fs").existsSync(${JSON.stringify(broken)})) process.exit(1);
    console.log(${JSON.stringify(printed({ token: "good", expirationTimestamp: end }))})`;
  const source = { account: { kind: "exec", plugin: plugin(script) } } as const;
  const keeper = new LoginKeeper(source, { env: {}, signal, now: () => new Date(now), steady: () => steady });
  expect(await keeper.current()).toMatchObject({ token: "good" });
  await writeFile(broken, "");
  [now, steady] = [now + 599_000, 599_000];
  expect(await keeper.current()).toMatchObject({ token: "good" });
  [now, steady] = [now + 1_000, 600_000];
  await expect(keeper.current()).rejects.toMatchObject({ code: "unavailable" });
});

test("a plugin is asked once for all requests, and again before its credentials end", async () => {
  let [now, steady] = [Date.now(), 0];
  const counter = join(folder, "count");
  const script = `const fs = require("fs"); fs.appendFileSync(${JSON.stringify(counter)}, "x");
    console.log(JSON.stringify({ apiVersion: JSON.parse(process.env.KUBERNETES_EXEC_INFO).apiVersion, kind: "ExecCredential",
      status: { token: process.env.GIVEN + fs.readFileSync(${JSON.stringify(counter)}, "utf8").length, expirationTimestamp: new Date(${now} + 600000).toISOString() } }))`;
  const source = { account: { kind: "exec", plugin: plugin(script) } } as const;
  const keeper = new LoginKeeper(source, { env: {}, signal, now: () => new Date(now), steady: () => steady });
  const all = await Promise.all([keeper.current(), keeper.current()]);
  expect(all.map(({ token }) => token)).toEqual(["from-the-file1", "from-the-file1"]);
  [now, steady] = [now + 300_000, 300_000];
  expect((await keeper.current()).token).toBe("from-the-file1");
  [now, steady] = [now + 260_000, 600_000];
  await expect.poll(async () => (await keeper.current()).token).toBe("from-the-file2");
});

test("nobody waits for a plugin while its credentials are good", async () => {
  let [now, steady] = [Date.now(), 0];
  const [first, held] = [join(folder, "first"), join(folder, "held")];
  const [old, end] = [now + 600_000, now + 1_200_000].map((ms) => new Date(ms).toISOString());
  const script = `const fs = require("fs");
    if (!fs.existsSync(${JSON.stringify(first)})) {
      fs.writeFileSync(${JSON.stringify(first)}, "");
      console.log(${JSON.stringify(printed({ token: "old", expirationTimestamp: old }))});
    } else {
      const timer = setInterval(() => {
        if (fs.existsSync(${JSON.stringify(held)})) return;
        clearInterval(timer);
        console.log(${JSON.stringify(printed({ token: "new", expirationTimestamp: end }))});
      }, 20);
    }`;
  await writeFile(held, "");
  const keeper = new LoginKeeper(
    { account: { kind: "exec", plugin: plugin(script) } },
    { env: {}, signal, now: () => new Date(now), steady: () => steady },
  );
  expect(await keeper.current()).toMatchObject({ token: "old" });
  [now, steady] = [now + 590_000, 590_000];
  const waits = delay(1_000, { token: "waits" }, { ref: false });
  expect(await Promise.all([1, 2].map(() => Promise.race([keeper.current(), waits])))).toMatchObject([{ token: "old" }, { token: "old" }]);
  // Expired: what runs is waited for.
  now += 10_000;
  const waiting = keeper.current();
  await rm(held);
  expect(await waiting).toMatchObject({ token: "new" });
});

test.each([
  ["returns expired credentials", `console.log(${JSON.stringify(printed({ token: "old", expirationTimestamp: "2020-01-01T00:00:00Z" }))})`, "old"],
  ["fails", "process.exit(3)", "unavailable"],
])("a plugin that %s is not run for each request, but again after a while, and after a refusal", async (_, end, expected) => {
  let steady = 0;
  const runs = join(await mkdtemp(join(folder, "runs-")), "runs");
  const script = `require("fs").appendFileSync(${JSON.stringify(runs)}, "x"); ${end}`;
  const source = { account: { kind: "exec", plugin: plugin(script) } } as const;
  const keeper = new LoginKeeper(source, { env: {}, signal, steady: () => steady });
  const asked = async () => {
    const login = await keeper.current().catch((thrown: unknown) => ({ token: (thrown as PlatformError).code }));
    return [login.token, (await readFile(runs, "utf8")).length];
  };
  expect([await asked(), await asked()]).toEqual([
    [expected, 1],
    [expected, 1],
  ]);
  steady = 4_999;
  expect(await asked()).toEqual([expected, 1]);
  keeper.refused();
  expect([await asked(), await asked()]).toEqual([
    [expected, 2],
    [expected, 2],
  ]);
  steady = 9_999;
  expect([await asked(), await asked()]).toEqual([
    [expected, 3],
    [expected, 3],
  ]);
});

test.each([
  ["fails", "process.exit(3)"],
  ["prints something else", "console.log('secret-output')"],
  ["prints without end", "for (;;) require('fs').writeSync(1, 'secret-output'.repeat(10000))"],
])("a plugin that %s gives no credentials, and its output is in no error", async (_, script) => {
  const thrown = await runPlugin(plugin(script), {}, signal).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: "unavailable" });
  expect(JSON.stringify([(thrown as PlatformError).message, String((thrown as PlatformError).cause)])).not.toContain("secret-output");
});

test("a plugin that is not there is named", async () => {
  const missing = { apiVersion, command: join(folder, "none") };
  await expect(runPlugin(missing, {}, signal)).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("not there") });
});

test.each([
  printed({}),
  printed({ clientCertificateData: "x" }),
  printed({ token: "a\r\nb" }),
  JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1beta1", kind: "ExecCredential", status: { token: "x" } }),
])("%s is refused", (output) => {
  expect(() => readCredential(plugin(""), output)).toThrow(expect.objectContaining({ code: "unavailable" }));
});

test("whatever a plugin prints, it is read or refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.object().map(printed)), (output) => {
      try {
        readCredential(plugin(""), output);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
    { numRuns: someRuns(300) },
  );
});
