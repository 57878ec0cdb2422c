import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseHostPort } from "../../core/transport/host-port.ts";
import { openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import { type MemoryIo, memoryIo } from "../memory-io.ts";
import { runTctl } from "./tctl.ts";

let t: TestAuth;
beforeEach(async () => {
  t = await openTestAuth({ now: () => new Date() });
  await t.auth.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(async () => await t[Symbol.asyncDispose]());

async function tctl(
  args: readonly string[],
  { input, stdout }: { input?: string; stdout?: Writable } = {},
): Promise<{ status: number; out: string; err: string }> {
  const io: MemoryIo = memoryIo({ PLATFORM_DATA_DIR: t.dataDir }, input);
  const status = await runTctl(args, stdout === undefined ? io : { ...io, stdout });
  return { status, out: io.out(), err: io.err() };
}

/** An output whose reader has left, or whose disk is full. */
const broken = (code: string): Writable =>
  new Writable({ write: (_piece, _encoding, done) => done(Object.assign(new Error(`${code}: write`), { code })) });

test.for(["EPIPE", "ENOSPC"])("a secret that could not be shown (%s) is a failure, which names what was made", async (code) => {
  const { status, err } = await tctl(["tokens", "add", "--type=node"], { stdout: broken(code) });
  expect(status).toBe(9);
  const [, name = ""] = /the token (\S+) was made, but its secret was not shown; remove it with: tctl tokens rm \S+/.exec(err) ?? [];
  expect(await tctl(["tokens", "rm", name])).toMatchObject({ status: 0 });

  const added = await tctl(["users", "add", "eve", "--roles=access"], { stdout: broken(code) });
  expect(added).toMatchObject({ status: 9, err: expect.stringMatching(/User eve was created, but the link was not shown; .*tctl users reset eve/) });
});

test("a full disk below the output of the audit log is not a fault of the auth service", async () => {
  const { status, err } = await tctl(["audit", "ls"], { stdout: broken("ENOSPC") });
  expect({ status, err }).toEqual({ status: 9, err: "ERROR: could not write to standard output: ENOSPC: write\n" });
});

test("more of standard input than may be given is refused, and nothing of it is made", async () => {
  const role = (name: string): string => `kind: role\nversion: v7\nmetadata: { name: ${name} }\nspec: { allow: { logins: [root] } }\n`;
  const input = `${role("first")}# ${"я".repeat(2_200_000)}\n---\n${role("last")}`;
  expect(await tctl(["create"], { input })).toMatchObject({ status: 2, err: expect.stringContaining("standard input is longer than 4194304 bytes") });
  expect((await tctl(["get", "roles", "--format=names"])).out).not.toContain("first");
});

/** The address of a relay to `address` that cuts a connection at the first answer after so many pieces of its client. */
async function cuttingRelay(address: string, pieces: number): Promise<{ readonly server: Server; readonly address: string }> {
  const { host, port } = parseHostPort(address, undefined, "address");
  const server = createServer((client) => {
    const upstream = connect({ host, port });
    let sent = 0;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on("data", (piece) => {
      sent += 1;
      upstream.write(piece);
    });
    upstream.on("data", (piece) => (sent < pieces ? client.write(piece) : end()));
    for (const one of [client, upstream]) one.on("error", end).on("close", end);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("wherever the connection is cut: an error that does not state doubt leaves everything as it was", async () => {
  const file = join(t.dataDir, "auth", "admin.json");
  const admin = JSON.parse(await readFile(file, "utf8")) as { readonly address: string };
  const names = async (): Promise<string> => (await tctl(["get", "roles", "--format=names"])).out;
  const lost: boolean[] = [];
  for (let pieces = 1; ; pieces += 1) {
    await writeFile(file, JSON.stringify(admin));
    await tctl(["create", "-f"], { input: "kind: role\nversion: v7\nmetadata: { name: brief }\nspec: { allow: { logins: [root] } }\n" });
    const { server, address } = await cuttingRelay(admin.address, pieces);
    await writeFile(file, JSON.stringify({ ...admin, address }));
    const { status, err } = await tctl(["rm", "role/brief"]);
    server.close();
    await writeFile(file, JSON.stringify(admin));
    const isGone = !(await names()).includes("brief");
    if (status === 0) break;
    const doubts = err.includes("it is not known whether the change was made");
    expect({ pieces, isSilent: isGone && !doubts }).toEqual({ pieces, isSilent: false });
    lost.push(isGone);
    expect(pieces).toBeLessThan(40);
  }
  expect(lost).toContain(true);
  expect(lost[0]).toBe(false);
});

const role = (name: string): string => `kind: role\nversion: v7\nmetadata: { name: ${name} }\nspec: { allow: { logins: [root] } }\n`;
const several = ["one", "two", "three"].map(role).join("---\n");

/** What a cut `tctl create` states about its documents. */
function stated({ out, err }: { readonly out: string; readonly err: string }) {
  const made = [...out.matchAll(/role "(\w+)" has been (?:created|updated)/g)].map(([, name]) => name);
  const [, open] = /role "(\w+)": .*it is not known whether it was stored/.exec(err) ?? [];
  return { made, open };
}

test.for([[[]], [["-f"]]] as const)(
  "wherever several documents of a file are cut %j: those named as stored are, and no other one but the one in doubt",
  async ([more]) => {
    const file = join(t.dataDir, "auth", "admin.json");
    const admin = JSON.parse(await readFile(file, "utf8")) as { readonly address: string };
    const seen = new Set<string>();
    for (let pieces = 1; ; pieces += 1) {
      const { server, address } = await cuttingRelay(admin.address, pieces);
      await writeFile(file, JSON.stringify({ ...admin, address }));
      const answer = await tctl(["create", ...more], { input: several });
      server.close();
      await writeFile(file, JSON.stringify(admin));
      if (answer.status === 0) break;
      const { made, open } = stated(answer);
      const stored: readonly string[] = (await tctl(["get", "roles", "--format=names"])).out
        .split("\n")
        .filter((name) => several.includes(`name: ${name} `));
      const doubted = stored.filter((name) => !made.includes(name));
      expect({ pieces, made: made.filter((name) => !stored.includes(name ?? "")), doubted: doubted.filter((name) => name !== open) }).toEqual({
        pieces,
        made: [],
        doubted: [],
      });
      seen.add(`${made.length} stored, ${open === undefined ? "no doubt" : "one in doubt"}`);
      for (const name of stored) await tctl(["rm", `role/${name}`]);
      expect(pieces).toBeLessThan(60);
    }
    expect([...seen]).toEqual(
      expect.arrayContaining(["0 stored, no doubt", "0 stored, one in doubt", "1 stored, one in doubt", "2 stored, one in doubt"]),
    );
  },
);

test("a refused document of a file comes after those that were stored, with the number of those that were not sent", async () => {
  await tctl(["create"], { input: role("two") });
  const refused = await tctl(["create"], { input: several });
  expect(refused).toMatchObject({ status: 6, out: 'role "one" has been created\n' });
  expect(refused.err).toMatch(
    /^ERROR: standard input, line 6: role "two": .* already exists; 1 before it was stored, 1 after it was not sent\noverwrite it with tctl create -f\n$/,
  );
});

test("Ctrl-C while a document is under way: those that were stored are named, and the one under way is in doubt", async () => {
  const file = join(t.dataDir, "auth", "admin.json");
  const admin = JSON.parse(await readFile(file, "utf8")) as { readonly address: string };
  const { host, port } = parseHostPort(admin.address, undefined, "address");
  const silent = Promise.withResolvers<void>();
  const isStored = async (): Promise<boolean> =>
    await t.admin.getResource({ kind: "role", name: "one" }).then(
      () => true,
      () => false,
    );
  // What the client sends after the first role is stored stays here.
  const server = createServer((client) => {
    const upstream = connect({ host, port });
    client.on("data", (piece) => {
      client.pause();
      void isStored().then((stored) => {
        if (stored) silent.resolve();
        else upstream.write(piece);
        client.resume();
      });
    });
    upstream.on("data", (piece) => client.write(piece));
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const one of [client, upstream]) one.on("error", end).on("close", end);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  await writeFile(file, JSON.stringify({ ...admin, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }));
  const script = `
    const { runTctl } = await import(${JSON.stringify(new URL("tctl.ts", import.meta.url).href)});
    const { stdin, stdout, stderr } = process;
    process.exit(await runTctl(["create"], { env: process.env, stdin, stdout, stderr }));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env: { PLATFORM_DATA_DIR: t.dataDir }, stdio: "pipe" });
  const answer = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.end(several);
  await silent.promise;
  child.kill("SIGINT");
  const [out, err] = await answer;
  server.close();
  const { made, open } = stated({ out, err });
  // The signal may come before the answer about the first one.
  expect([["one", "two"][made.length], err]).toEqual([open, expect.stringContaining("stopped by SIGINT")]);
});
