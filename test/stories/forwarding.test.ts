import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type EchoServer, echoed, startEcho } from "../world/echo.ts";
import { freePorts } from "../world/free-port.ts";
import { output, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { makeAccount, type UnixAccount } from "../world/unix-account.ts";
import { until } from "../world/until.ts";

const root = userInfo().uid === 0;

/** Ports and Unix sockets through a host, with the stock client of OpenSSH. Root also gets a throw-away Unix user to become. */
describe("forwarding with stock OpenSSH", () => {
  let account: UnixAccount;
  let login: string;
  let cluster: Cluster;
  let user: User;
  let dir: string;
  let echo: EchoServer;
  let echoPort: number;
  beforeAll(async () => {
    account = await makeAccount("pf");
    ({ login } = account);
    dir = await mkdtemp(join(tmpdir(), "platform-forwarding-"));
    echo = await startEcho();
    echoPort = echo.port;
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
    await writeFile(join(dir, "config"), (await user.tsh(["config"])).stdout);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    echo?.[Symbol.dispose]();
    await rm(dir, { recursive: true, force: true });
    await account?.[Symbol.asyncDispose]();
  });

  const env = (): Record<string, string> => ({ TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` });
  const options = (): readonly string[] => ["-F", join(dir, "config"), "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"];

  /** `ssh -N` with these options until the body is done; what it has printed. */
  async function during(args: readonly string[], body: (printed: () => string) => Promise<void>): Promise<void> {
    await using ssh = startService("ssh", [...options(), "-N", ...args, `${login}@web-1.test.cluster`], { env: env() });
    await body(ssh.printed);
  }

  async function openTo(port: number): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket.on("error", () => {});
  }

  test("-L reaches a port of the host, and a refused one is reported in OpenSSH's words", async () => {
    const [port, other] = (await freePorts(2)) as [number, number];
    await during(["-L", `${port}:127.0.0.1:${echoPort}`, "-L", `${other}:127.0.0.1:1`], async (printed) => {
      expect(await echoed({ port }, "hello")).toBe("hello");
      expect(await echoed({ port: other }, "x").catch(() => "")).toBe("");
      await until("ssh tells", () => /open failed: connect failed: Connection refused/.test(printed()));
    });
  });

  test("-D carries a SOCKS client's connections", async () => {
    const [port] = (await freePorts(1)) as [number];
    const web = createServer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nfrom the host"));
    await once(web.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    await during(["-D", String(port)], async () => {
      const fetched = await until("curl gets it", async () => {
        const done = await run("curl", ["-s", "--max-time", "5", "--noproxy", "", "--socks5-hostname", `127.0.0.1:${port}`, url]);
        return done.status === 0 && done.stdout;
      });
      expect(fetched).toBe("from the host");
    });
    web.close();
  });

  test("-R listens on loopback of the host for as long as the connection lives", async () => {
    const [port] = (await freePorts(1)) as [number];
    await during(["-R", `*:${port}:127.0.0.1:${echoPort}`], async () => {
      expect(await echoed({ port, host: "127.0.0.1" }, "from the host")).toBe("from the host");
    });
    await until("the listener is gone", async () => {
      const socket = connect(port, "127.0.0.1");
      const failure = await once(socket, "connect").catch((error: NodeJS.ErrnoException) => error.code);
      socket.on("error", () => {}).destroy();
      return failure === "ECONNREFUSED";
    });
  });

  test("-L and -R of Unix sockets; the listener on the host belongs to the user", async () => {
    const there = `/tmp/${login}-there`;
    await during(["-R", `${there}:127.0.0.1:${echoPort}`, "-L", `${join(dir, "here")}:${there}`], async () => {
      // ssh opens its own end before the host has answered for the other.
      await until("the host listens", async () => (await run("test", ["-S", there])).status === 0);
      expect(await echoed({ path: join(dir, "here") }, "through both")).toBe("through both");
      expect((await output("stat", ["-c", "%U %a", there])).trim()).toBe(`${login} 600`);
    });
    await until("the socket is gone", async () => (await run("test", ["-e", there])).status !== 0);
  });

  test.runIf(root)("connections and listeners of a login belong to it, as the kernel sees them", async () => {
    const uid = Number(await output("id", ["-u", login]));
    const [port, remote] = (await freePorts(2)) as [number, number];
    const owners = async (line: RegExp): Promise<readonly number[]> =>
      (await readFile("/proc/net/tcp", "utf8")).split("\n").flatMap((one) => (line.test(one) ? Number(one.trim().split(/\s+/)[7]) : []));
    const hex = (of: number): string => of.toString(16).toUpperCase().padStart(4, "0");
    await during(["-L", `${port}:127.0.0.1:${echoPort}`, "-R", `${remote}:127.0.0.1:${echoPort}`], async () => {
      const there = await until("the tunnel stands", () => openTo(port));
      // The end that went out, by its peer; the other belongs to the server.
      expect(await until("it is made", async () => (await owners(new RegExp(`:\\s.*:.* 0100007F:${hex(echoPort)} 01 `))).includes(uid))).toBe(true);
      expect(await owners(new RegExp(` 0100007F:${hex(remote)} 00000000:0000 0A `))).toEqual([uid]);
      const arrived = await openTo(remote);
      expect(await until("it has arrived", async () => (await owners(new RegExp(` 0100007F:${hex(remote)} 0100007F:\\S+ 01 `))).at(0))).toBe(uid);
      there.destroy();
      arrived.destroy();
    });
    await until("the process of its sockets is gone", async () => (await run("pgrep", ["-u", String(uid), "-x", "platform-ports"])).stdout === "");
  });

  test.runIf(root)("a Unix socket that the user may not use stays shut, and so does a low port", async () => {
    const path = join(dir, "private");
    const server = createServer((socket) => socket.end("secret"));
    await once(server.listen(path), "listening");
    await run("chmod", ["600", path]);
    await during(["-L", `${join(dir, "shut")}:${path}`], async (printed) => {
      expect(await echoed({ path: join(dir, "shut") }, "x").catch(() => "")).toBe("");
      await until("ssh tells", () => /connect failed: Permission denied/.test(printed()));
    });
    server.close();
    const low = await run("ssh", [...options(), "-N", "-R", `81:127.0.0.1:${echoPort}`, `${login}@web-1.test.cluster`], {
      env: env(),
      limitMs: 30_000,
    });
    expect(low.stderr).toMatch(/remote port forwarding failed for listen port 81/);
  });

  test("-A lends the local agent where a role's forward_agent allows it, and the host forgets it afterwards", async () => {
    const sock = join(dir, "agent");
    const agent = spawn("ssh-agent", ["-D", "-a", sock], { stdio: "ignore" });
    try {
      const key = join(dir, "key");
      await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "lent", "-f", key]);
      await until("the agent takes the key", async () => (await run("ssh-add", [key], { env: { SSH_AUTH_SOCK: sock } })).status === 0);
      const withAgent = { ...env(), SSH_AUTH_SOCK: sock };
      const list = ["-A", `${login}@web-1.test.cluster`, "ssh-add -l; echo $SSH_AUTH_SOCK"];
      expect((await run("ssh", [...options(), ...list], { env: withAgent })).stderr).toMatch(
        /Could not open a connection to your authentication agent/,
      );
      await putRole(cluster, "lend", { options: { forward_agent: true } });
      const lender = await cluster.user("bob", { logins: login, roles: "access,lend" });
      const config = join(dir, "lender");
      await writeFile(config, (await lender.tsh(["config"])).stdout);
      const done = await run("ssh", ["-F", config, "-o", "BatchMode=yes", ...list], { env: { ...withAgent, TSH_HOME: lender.home } });
      expect(done.stdout, done.stderr).toMatch(/256 SHA256:\S+ lent \(ED25519\)/);
      const path = /^\/tmp\/ssh-\S+$/m.exec(done.stdout)?.[0] ?? "";
      await until("the socket is gone", async () => (await run("test", ["-e", path])).status !== 0);
    } finally {
      agent.kill();
    }
  });

  test("200 channels share one connection", async () => {
    const control = join(dir, "control");
    const shared = [...options(), "-o", `ControlPath=${control}`];
    const [port] = (await freePorts(1)) as [number];
    await during(["-M", "-o", `ControlPath=${control}`, "-L", `${port}:127.0.0.1:${echoPort}`], async () => {
      await until("the master is up", async () => (await run("ssh", [...shared, "-O", "check", "x"], { env: env() })).status === 0);
      const sessions = Array.from({ length: 8 }, async (_, index) =>
        run("ssh", [...shared, `${login}@web-1.test.cluster`, `echo ${index}`], { env: env() }),
      );
      const streams = Array.from({ length: 192 }, (_, index) => echoed({ port }, `stream ${index}`));
      expect(await Promise.all(streams)).toEqual(Array.from({ length: 192 }, (_, index) => `stream ${index}`));
      expect((await Promise.all(sessions)).map(({ stdout }) => stdout)).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n`));
    });
  });

  test("every destination is in the audit log", async () => {
    const events = (await cluster.admin("audit", "ls", "--format=json")).trim().split("\n");
    const ports = events.map((line) => JSON.parse(line) as { event: string; code: string; addr: string }).filter(({ event }) => event === "port");
    expect(ports).toEqual(expect.arrayContaining([expect.objectContaining({ code: "T3003I", addr: `127.0.0.1:${echoPort}`, user: "alice", login })]));
    expect(ports).toEqual(expect.arrayContaining([expect.objectContaining({ code: "T3003E", addr: "127.0.0.1:1", error: "Connection refused" })]));
  });
});
