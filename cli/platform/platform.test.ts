import { chmod, lstat, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseConfig } from "../../core/config/parse-config.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { memoryIo } from "../memory-io.ts";
import { runProgram } from "../run-program.ts";
import { configText, type Role } from "./config-text.ts";
import { configureCommand } from "./configure.ts";
import { serveDiagnostics } from "./diagnostics.ts";
import { takePidFile } from "./pid-file.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-cli-"));
});
afterAll(async () => {
  await rm(dir, { recursive: true });
});

test.for<[roles: Role[]]>([[["auth"]], [["auth", "proxy"]], [["auth", "proxy", "node"]]])(
  "configure writes a file for %s that start accepts",
  ([roles]) => {
    expect(parseConfig(configText({ roles, caPins: [], labels: {} })).problems).toEqual([]);
  },
);

test("configure writes what it was given so that it reads the same", () => {
  const odd = 'a: "b" #c';
  const text = configText({
    roles: ["node"],
    nodename: "n1",
    token: odd,
    proxy: "p.test:443",
    caPins: ["sha256:1", "2"],
    labels: { on: "yes", n: "1" },
  });
  const { sections, problems } = parseConfig(text);
  expect(problems).toEqual([]);
  expect(sections?.platform).toMatchObject({
    nodename: "n1",
    auth_token: odd,
    proxy_server: { host: "p.test", port: 443 },
    ca_pin: ["sha256:1", "2"],
  });
  expect(sections?.ssh_service).toMatchObject({ enabled: true, labels: { on: "yes", n: "1" } });
  expect(sections?.auth_service.enabled).toBe(false);
});

test.for([
  ["proxy.test:443", 443],
  ["proxy.test", 3080],
  [undefined, 3080],
] as const)("configure lets the proxy listen where %s says that it is", ([publicAddr, port]) => {
  const { sections } = parseConfig(configText({ roles: ["auth", "proxy"], publicAddr, caPins: [], labels: {} }));
  expect(sections?.proxy_service).toMatchObject({ web_listen_addr: { port } });
});

test("configure replaces a file by another one, which never is half there; links stay, and without --force the file stays", async () => {
  const [file, link] = [join(dir, "c.yaml"), join(dir, "link.yaml")];
  await writeFile(file, "before\n", { mode: 0o644 });
  await symlink(file, link);
  await using before = await open(file);
  const configure = async (...args: string[]): Promise<number> =>
    await runProgram({ name: "platform", summary: "", commands: [configureCommand] }, ["configure", "-o", link, ...args], memoryIo());
  expect(await configure()).toBe(6);
  expect(await configure("--force", "--cluster-name=example.com")).toBe(0);
  expect(await before.readFile("utf8")).toBe("before\n");
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(parseConfig(await readFile(file, "utf8")).sections?.auth_service.cluster_name).toBe("example.com");
  await chmod(file, 0o644);
  expect(await configure("--force", "--cluster-name=example.com")).toBe(0);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("roles of join tokens that configure does not know lead to the command that prints their file", async () => {
  const refused = async (role: string) => {
    const io = memoryIo();
    const status = await runProgram({ name: "platform", summary: "", commands: [configureCommand] }, ["configure", `--roles=${role}`], io);
    return [status, io.err()];
  };
  expect(await refused("db")).toEqual([
    2,
    'ERROR: "db" is not a role\nroles are auth, proxy, node; tctl tokens add --type=db prints the file of a host with that service\n',
  ]);
  expect(await refused("nonsense")).toEqual([2, 'ERROR: "nonsense" is not a role\nroles are auth, proxy, node\n']);
});

test("a pid file is taken once, a stale one is replaced, and it is gone afterwards", async () => {
  const file = join(dir, "a.pid");
  await writeFile(file, "999999999\n");
  {
    await using _taken = await takePidFile(file);
    expect(await readFile(file, "utf8")).toBe(`${process.pid}\n`);
  }
  await expect(stat(file)).rejects.toThrow("ENOENT");
  // The test's parent runs the same program, as another platform would.
  await writeFile(file, "not a number");
  await (await takePidFile(file))[Symbol.asyncDispose]();
});

test("the pid file of a running process of ours is respected", async () => {
  const file = join(dir, "b.pid");
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, ["-e", "process.stdin.resume(); process.stdout.write('up')"], { stdio: ["pipe", "pipe", "ignore"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  await writeFile(file, `${child.pid}\n`);
  await expect(takePidFile(file)).rejects.toMatchObject({ code: "conflict" });
  child.stdin.end();
  await new Promise((resolve) => child.once("close", resolve));
});

test("diagnostics answer healthz at once and readyz when it is true, and nothing else", async () => {
  const state = { ready: false };
  await using served = await serveDiagnostics(
    { host: "127.0.0.1", port: 0 },
    {
      ready: () => state.ready,
      metrics: async () => "platform_ready 1\n",
      sockets: new ListenSockets(),
    },
  );
  const status = async (path: string, method = "GET"): Promise<number> =>
    (await fetch(`http://127.0.0.1:${served.address.port}${path}`, { method })).status;
  expect(await status("/healthz")).toBe(200);
  expect(await status("/readyz")).toBe(503);
  state.ready = true;
  expect(await status("/readyz")).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${served.address.port}/metrics`)).text()).toBe("platform_ready 1\n");
  expect(await status("/")).toBe(404);
  expect(await status("/healthz", "POST")).toBe(405);
});
