import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type EchoServer, echoed, startEcho } from "../world/echo.ts";
import { freePorts } from "../world/free-port.ts";
import { cleanEnv, output, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

/** The same forwards as a stock ssh has, without one. */
describe("forwarding with tsh ssh", () => {
  const login = userInfo().username;
  let cluster: Cluster;
  let user: User;
  /** Nobody but the tests of -N. */
  let forwarder: User;
  let dir: string;
  let echo: EchoServer;
  let echoPort: number;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-tsh-forwarding-"));
    echo = await startEcho();
    echoPort = echo.port;
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
    forwarder = await cluster.user("carol", { logins: `${login},nobody` });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    echo?.[Symbol.dispose]();
    await rm(dir, { recursive: true, force: true });
  });

  interface Running {
    readonly child: ChildProcess;
    readonly printed: () => string;
    readonly closed: Promise<unknown[]>;
  }

  async function during(args: readonly string[], body: (running: Running) => Promise<void>): Promise<void> {
    const child = spawn(program("tsh"), ["ssh", "-N", ...args, `${login}@web-1`], {
      env: cleanEnv({ TSH_HOME: user.home }),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let printed = "";
    child.stderr.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    const closed = once(child, "close");
    try {
      await body({ child, printed: () => printed, closed });
    } finally {
      child.kill();
      await closed;
    }
  }

  test("-L reaches a port on the host from both loopback addresses, and says why another one does not answer", async () => {
    const [port, other] = (await freePorts(2)) as [number, number];
    await during(["-L", `${port}:127.0.0.1:${echoPort}`, "-L", `${other}:127.0.0.1:1`], async ({ printed }) => {
      expect(await echoed({ port, host: "127.0.0.1" }, "hello")).toBe("hello");
      expect(await echoed({ port, host: "::1" }, "again")).toBe("again");
      expect(await echoed({ port: other, host: "127.0.0.1" }, "x").catch(() => "")).toBe("");
      await until("tsh tells", () => printed().includes("channel: open failed: connect failed: Connection refused"));
    });
  });

  test.for(userInfo().uid === 0 ? [login, "nobody"] : [login])(
    "-N runs nothing and stands, also as %s: five seconds later the forward does, and no session began",
    async (account) => {
      const [port] = (await freePorts(1)) as [number];
      const child = spawn(program("tsh"), ["ssh", "-N", "-L", `${port}:127.0.0.1:${echoPort}`, `${account}@web-1`], {
        env: cleanEnv({ TSH_HOME: forwarder.home }),
        stdio: ["pipe", "pipe", "pipe"],
      });
      let printed = "";
      const print = (chunk: Buffer): void => {
        printed += chunk.toString();
      };
      for (const stream of [child.stdout, child.stderr]) stream.on("data", print);
      const closed = once(child, "close");
      try {
        child.stdin.write("echo a shell runs\n");
        await until("the forward stands", async () => (await echoed({ port, host: "127.0.0.1" }, "x").catch(() => "")) === "x");
        await delay(5000);
        expect(child.exitCode).toBeNull();
        expect(await echoed({ port, host: "127.0.0.1" }, "still there")).toBe("still there");
        expect(printed).toBe("");
        const events = await cluster.admin("audit", "ls", "--user=carol", "--format=json");
        expect(events).toContain('"port"');
        expect(events).not.toMatch(/"(?:session\.start|exec|subsystem)"/);
      } finally {
        child.kill();
        await closed;
      }
    },
  );

  test.for(["--socks4", "--socks4a", "--socks5", "--socks5-hostname"])("-D serves curl %s", async (kind) => {
    const [port] = (await freePorts(1)) as [number];
    const web = createServer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nfrom the host"));
    await once(web.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    await during(["-D", String(port)], async () => {
      const fetched = await until("curl gets it", async () => {
        const done = await run("curl", ["-s", "--max-time", "5", "--noproxy", "", kind, `127.0.0.1:${port}`, url]);
        return done.status === 0 && done.stdout;
      });
      expect(fetched).toBe("from the host");
    });
    web.close();
  });

  test("-R listens on the host, port 0 chooses one and tells it", async () => {
    await during(["-R", `0:127.0.0.1:${echoPort}`], async ({ printed }) => {
      const port = await until("the port is reported", () => /Allocated port (\d+) for remote forward/.exec(printed())?.[1]);
      expect(await echoed({ port: Number(port), host: "127.0.0.1" }, "from the host")).toBe("from the host");
    });
  });

  test("Unix sockets on both sides; SIGINT ends it and removes the local one", async () => {
    const [here, there] = [join(dir, "here"), join(dir, "there")];
    await during(["-R", `${there}:127.0.0.1:${echoPort}`, "-L", `${here}:${there}`], async ({ child, closed }) => {
      await until("the host listens", async () => (await run("test", ["-e", there])).status === 0);
      expect(await echoed({ path: here }, "through both")).toBe("through both");
      child.kill("SIGINT");
      expect((await closed)[0]).toBe(130);
      expect((await run("test", ["-e", here])).status).toBe(1);
    });
  });

  test("-A lends the local agent where a role allows it; where none does, it is reported and the command runs", async () => {
    const env = { SSH_AUTH_SOCK: join(dir, "agent") };
    const agent = spawn("ssh-agent", ["-D", "-a", env.SSH_AUTH_SOCK], { stdio: "ignore" });
    try {
      const key = join(dir, "key");
      await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "lent", "-f", key]);
      await until("the agent takes the key", async () => (await run("ssh-add", [key], { env })).status === 0);
      const list = ["ssh", "-A", `${login}@web-1`, 'echo "[$SSH_AUTH_SOCK]"; ssh-add -l'];
      const refused = await user.tsh(list, { env });
      expect(refused.stdout).toBe("[]\n");
      expect(refused.stderr).toMatch(/^warning: web-1 refused agent forwarding: no role allows it/);
      await putRole(cluster, "lend", { options: { forward_agent: true } });
      const lender = await cluster.user("bob", { logins: login, roles: "access,lend" });
      const done = await lender.tsh(list, { env });
      expect(done.stdout, done.stderr).toMatch(/256 SHA256:\S+ lent \(ED25519\)/);
      const without = await lender.tsh(["ssh", "-A", `${login}@web-1`, "true"]);
      expect(without).toMatchObject({ status: 0, stderr: "warning: there is no SSH agent here (SSH_AUTH_SOCK is not set)\n" });
    } finally {
      agent.kill();
    }
  });

  test("a command runs beside its forwards, and what cannot be forwarded is a warning", async () => {
    const done = await user.tsh(["ssh", "-L", `${echoPort}:127.0.0.1:1`, `${login}@web-1`, "echo ran; exit 3"]);
    expect(done).toMatchObject({ stdout: "ran\n", status: 3 });
    expect(done.stderr).toMatch(/^warning: could not listen on 127\.0\.0\.1 port \d+: .*EADDRINUSE/);
  });

  test.for([
    ["-L", "8080"],
    ["-R", "nothing"],
    ["-D", "x"],
  ])("%s %s is refused before anything is asked", async ([option, spec]) => {
    const done = await user.tsh(["ssh", option as string, spec as string, `${login}@web-1`, "true"]);
    expect(done.status).not.toBe(0);
    expect(done.stderr).toMatch(/write it as/);
  });
});
