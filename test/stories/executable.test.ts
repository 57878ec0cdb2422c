import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newestGlibc } from "../../scripts/build/newest-glibc.ts";
import { freePorts } from "../world/free-port.ts";
import { dist, type Finished, output, program, run } from "../world/program.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

/** The built file itself: what it needs, what it lets in, and that it is the same every time. */

const root = resolve(import.meta.dirname, "../..");
const executable = program("platform");
const isRoot = process.getuid?.() === 0;
let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-executable-"));
});
afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function controlConfig(name: string): Promise<{ config: string; diagnostics: string; web: number }> {
  const [auth, web, diagnostics] = (await freePorts(3)) as [number, number, number];
  const config = join(dir, `${name}.yaml`);
  const text = `version: v3
platform: { nodename: one, data_dir: ${join(dir, name)}, diag_addr: "127.0.0.1:${diagnostics}" }
auth_service: { listen_addr: "127.0.0.1:${auth}" }
proxy_service: { web_listen_addr: "127.0.0.1:${web}" }
`;
  await writeFile(config, text, { mode: 0o600 });
  return { config, diagnostics: `http://127.0.0.1:${diagnostics}`, web };
}

const updater = join(dist, "platform-upgrade");

test.for([executable, updater])("%s has at most 115 MB and asks for no C library newer than 2.28", async (file) => {
  expect((await stat(file)).size).toBeLessThanOrEqual(115_000_000);
  const { major, minor, symbol } = await newestGlibc(file);
  expect(major * 100 + minor, symbol).toBeLessThanOrEqual(228);
});

test("two builds are byte-identical, and print only the built files", async () => {
  const hash = async (file: string): Promise<string> =>
    createHash("sha256")
      .update(await readFile(file))
      .digest("hex");
  const again = join(dir, "again");
  const built = await run(process.execPath, [join(root, "scripts/build.ts"), "--fresh", again], { limitMs: 120_000 });
  expect(built).toMatchObject({ status: 0, stderr: "" });
  expect(built.stdout.split("\n").filter((line) => line !== "" && !line.startsWith("built "))).toEqual([]);
  expect(await hash(join(again, "platform"))).toBe(await hash(executable));
  expect(await hash(join(again, "platform-upgrade"))).toBe(await hash(updater));
});

test("its name decides which program it is", async () => {
  for (const name of ["platform", "tsh", "tctl"] as const) {
    for (const word of ["version", "--version"]) expect(await output(program(name), [word])).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\n$`));
    expect(await output(program(name), ["--help"])).toContain(`Usage: ${name}`);
  }
});

test("version starts about as fast as the bare runtime (printed, not judged)", async () => {
  const node = (await readdir(join(root, ".cache/build"))).find((name) => /^node-[0-9a-f]+$/.test(name)) ?? "";
  const median = async (command: string, args: string[]): Promise<number> => {
    const times: number[] = [];
    for (let turn = 0; turn < 9; turn++) {
      const begin = performance.now();
      expect((await run(command, args)).status).toBe(0);
      times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b)[4] ?? 0;
  };
  const [bare, ours] = [await median(join(root, ".cache/build", node), ["-e", "0"]), await median(executable, ["version"])];
  process.stdout.write(`version ${ours.toFixed(1)} ms, bare runtime ${bare.toFixed(1)} ms: ${(ours / bare).toFixed(2)} x\n`);
});

describe("the environment opens nothing:", () => {
  const version = (env: Record<string, string>): Promise<Finished> => run(executable, ["version"], { env });

  test("NODE_OPTIONS is not read", async () => {
    const planted = join(dir, "planted.cjs");
    await writeFile(planted, 'require("fs").writeFileSync(__filename + ".ran", "");');
    expect(await version({ NODE_OPTIONS: `--require ${planted} --inspect=127.0.0.1:0` })).toMatchObject({ status: 0, stderr: "" });
    await expect(stat(`${planted}.ran`)).rejects.toThrow("ENOENT");
  });

  test("certificates of NODE_EXTRA_CA_CERTS are not trusted, nor is everything by NODE_TLS_REJECT_UNAUTHORIZED", async () => {
    const [cert, key] = [join(dir, "foreign.pem"), join(dir, "foreign.key")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    await output("openssl", [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      "-days",
      "1",
      ...names,
    ]);
    const { createServer } = await import("node:https");
    const server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (_, response) =>
      response.end("-----BEGIN CERTIFICATE-----\n"),
    );
    server.on("tlsClientError", () => {});
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as { port: number };
    const env = { NODE_EXTRA_CA_CERTS: cert, NODE_TLS_REJECT_UNAUTHORIZED: "0", TSH_HOME: join(dir, "tsh") };
    const done = await run(program("tsh"), ["login", `--proxy=127.0.0.1:${port}`, "--user=a"], { env, input: "x\n1\n" });
    server.close();
    server.closeAllConnections();
    expect(done.status).not.toBe(0);
    expect(done.stderr).toMatch(/certificate|trust/i);
  });

  test("SIGUSR1 opens no inspector", async () => {
    const { config, diagnostics } = await controlConfig("usr1");
    await using service = startService(executable, ["start", "--config", config]);
    await until("ready", async () => (await fetch(`${diagnostics}/readyz`)).ok);
    const listening = async (): Promise<string> =>
      (await output("ss", ["-ltnpH"]))
        .split("\n")
        .filter((line) => line.includes(`pid=${service.pid},`))
        .sort()
        .join("\n");
    const before = await listening();
    process.kill(service.pid, "SIGUSR1");
    // Answered after the signal was: the process has had its turn.
    for (let turn = 0; turn < 3; turn++) expect((await fetch(`${diagnostics}/healthz`)).ok).toBe(true);
    expect(await listening()).toBe(before);
    expect(service.printed()).not.toContain("Debugger");
  });
});

describe("start", () => {
  test("reports its version and native SSH, and ends cleanly with the first signal", async () => {
    const { config, diagnostics } = await controlConfig("native");
    const pid = join(dir, "native.pid");
    await using service = startService(executable, ["start", "--config", config, "--pid-file", pid]);
    await until("ready", async () => (await fetch(`${diagnostics}/readyz`)).ok);
    expect(service.printed()).toMatch(/platform starts version=\S+ node=24\.21\.0 ssh_crypto=native/);
    // Not only a promise: the addon's code is there, and not another addon's in its place.
    expect(await readFile(`/proc/${service.pid}/maps`, "utf8")).toMatch(/ r-xp .*\/sshcrypto\.node/);
    expect((await readFile(pid, "utf8")).trim()).toBe(String(service.pid));
    const second = await run(executable, ["start", "--config", config, "--pid-file", pid]);
    expect(second).toMatchObject({ status: 7, stderr: expect.stringContaining("is already running") });
    await service.stop();
    expect(service.printed()).toContain("stopped");
    await expect(stat(pid)).rejects.toThrow("ENOENT");
  });

  test("serves the Web UI from itself: the page, and every file that it names", async () => {
    const { config, diagnostics, web } = await controlConfig("web");
    await using _service = startService(executable, ["start", "--config", config]);
    await until("ready", async () => (await fetch(`${diagnostics}/readyz`)).ok);
    const get = async (path: string): Promise<string> =>
      await output("curl", ["-sSk", "--fail", "--compressed", "-D", join(dir, "headers"), `https://127.0.0.1:${web}${path}`]);
    const page = await get("/web/hosts");
    const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(files).toHaveLength(3);
    for (const file of files) {
      expect((await get(file)).length).toBeGreaterThan(100);
      expect(await readFile(join(dir, "headers"), "utf8")).toMatch(/content-encoding: (br|gzip)/i);
    }
  });

  test("works with the native code turned off, and reports it", async () => {
    const { config, diagnostics } = await controlConfig("javascript");
    await using service = startService(executable, ["start", "--config", config], { env: { PLATFORM_SSH_CRYPTO: "javascript" } });
    await until("ready", async () => (await fetch(`${diagnostics}/readyz`)).ok);
    expect(service.printed()).toContain("ssh_crypto=javascript");
  });

  test.skipIf(!isRoot)("works where no temporary folder may hold programs (root only)", async () => {
    const { config, diagnostics } = await controlConfig("noexec");
    // The executable itself may lie below /tmp: it is started from /mnt, which stays as it is.
    const script = 'mount --bind "$0" /mnt && for d in /tmp /dev/shm /run; do mount --bind $d $d && mount -o remount,bind,noexec $d; done; exec "$@"';
    await using service = startService("unshare", ["-m", "sh", "-c", script, join(executable, ".."), "/mnt/platform", "start", "--config", config]);
    await until("ready", async () => (await fetch(`${diagnostics}/readyz`)).ok);
    expect(service.printed()).toContain("ssh_crypto=javascript");
  });

  test("a wrong file is refused with every line, before anything starts", async () => {
    const config = join(dir, "wrong.yaml");
    await writeFile(config, "version: v3\nplatform:\n  nodenam: x\n  data_dir: here\nauth_service: {}\n");
    const done = await run(executable, ["start", "--config", config, "--pid-file", join(dir, "wrong.pid")]);
    expect(done.status).toBe(2);
    expect(done.stderr).toContain(`${config}:3: platform.nodenam is not a known key; did you mean nodename?\n${config}:4: platform.data_dir`);
    await expect(stat(join(dir, "wrong.pid"))).rejects.toThrow("ENOENT");
  });

  test("configure writes a file for its owner alone, once", async () => {
    const config = join(dir, "made.yaml");
    expect((await run(executable, ["configure", "--output", config, "--cluster-name=a.test"])).status).toBe(0);
    expect((await stat(config)).mode & 0o777).toBe(0o600);
    expect(await run(executable, ["configure", "--output", config])).toMatchObject({ status: 6 });
    expect((await run(executable, ["configure", "--output", config, "--force", "--proxy=p.test"])).status).toBe(0);
    expect(await readFile(config, "utf8")).toContain("proxy_server: p.test");
  });
});

test.skipIf(!isRoot)("it runs where there is nothing but its libraries (root only)", async () => {
  const bare = join(dir, "bare");
  const needed = [...(await output("ldd", [executable])).matchAll(/(\/\S+)/g)].map((match) => match[1] as string);
  for (const library of needed) {
    await mkdir(join(bare, dirname(library)), { recursive: true });
    await cp(library, join(bare, library), { dereference: true });
  }
  await cp(executable, join(bare, "tsh"));
  await chmod(join(bare, "tsh"), 0o755);
  const done = await run("env", ["-i", "/usr/sbin/chroot", bare, "/tsh", "version"]);
  expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^tsh \d/) });
  expect(needed.map((path) => path.replace(/.*\//, "")).filter((name) => /node|ssl|crypto/.test(name))).toEqual([]);
});
