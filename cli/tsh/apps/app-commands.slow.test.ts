import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { enrolUser } from "../../../test/inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import { until } from "../../../test/world/until.ts";
import { memoryIo } from "../../memory-io.ts";
import { runTsh } from "../tsh.ts";

describe("tsh apps", () => {
  let cluster: TestCluster;
  let agent: TestAgent;
  let home = "";
  let env: Record<string, string> = {};
  let port = 0;

  const tsh = async (...argv: string[]) => {
    const io = memoryIo(env);
    return { status: await runTsh(argv, io), out: io.out(), err: io.err() };
  };
  const files = async (): Promise<string> => {
    const names = await readdir(join(home, "tsh"));
    return join(home, "tsh", names.find((name) => /_\d+$/.test(name)) ?? "");
  };

  beforeAll(async () => {
    cluster = await startTestCluster({ proxy: { publicAddr: { host: "proxy.example.test", port: 443 } } });
    await cluster.putRole("dev", { allow: { app_labels: { env: "test" } } });
    agent = await startTestAgent(cluster, { hostname: "app-1", credentials: await joinServingHost(cluster, "app-1", "app") });
    const labels = { env: "test" };
    const resources = [
      { kind: "app", name: "wiki", labels, details: { scheme: "http" } },
      { kind: "app", name: "graphs", labels, details: { scheme: "http", public_addr: "graphs.example.org" } },
      { kind: "app", name: "orders", labels, details: { scheme: "tcp" } },
      { kind: "app", name: "pg", labels, details: { scheme: "tcp", tcp_ports: "5432,6000-6010" } },
      { kind: "app", name: "hidden", labels: { env: "prod" }, details: { scheme: "http" } },
    ];
    agent.send({ type: "resources", resources, more: false });
    await until("the auth service knows them", async () => (await cluster.admin.listOffered({ kind: "app" })).resources.length === resources.length);
    home = await mkdtemp(join(tmpdir(), "platform-tsh-apps-"));
    env = { HOME: home, TSH_HOME: join(home, "tsh") };
    port = cluster.proxy.addresses.web.port;
    const { admin } = cluster;
    const ann = await enrolUser({ admin, client: admin }, { name: "ann", roles: ["dev"], logins: [] }, new Date());
    const io = memoryIo(env, `${ann.password}\n${codeAt(ann.otpauthUri, new Date(Date.now() + 30_000))}\n`);
    const login = ["login", `--proxy=127.0.0.1:${port}`, "--user=ann", `--ca-pin=${cluster.auth.caPin}`];
    expect(await runTsh(login, io), io.err()).toBe(0);
  });
  afterAll(async () => {
    agent.end();
    await cluster[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });

  test("ls shows what the user may use, with type and public address", async () => {
    const { out } = await tsh("apps", "ls", "-f", "json");
    const listed = (JSON.parse(out) as Record<string, unknown>[]).map(({ name, type, public_address: address, ports }) => [
      name,
      type,
      address,
      ports,
    ]);
    expect(listed).toEqual([
      ["graphs", "HTTP", "https://graphs.example.org", ""],
      ["orders", "TCP", "orders.proxy.example.test:443", ""],
      ["pg", "TCP", "pg.proxy.example.test:443", "5432, 6000-6010"],
      ["wiki", "HTTP", "https://wiki.proxy.example.test", ""],
    ]);
    expect((await tsh("apps", "ls")).out).toMatch(/^Application +Type +Public Address +Ports +Agents +Labels/);
  });

  test("login stores a certificate for the application alone and prints a command; config prints its parts", async () => {
    const done = await tsh("apps", "login", "wiki");
    const folder = await files();
    const [ca, cert, key] = [join(folder, "ca.pem"), join(folder, "certs", "app", "wiki.crt"), join(folder, "certs", "app", "wiki.key")];
    const curl = `curl --cacert ${ca} --cert ${cert} --key ${key} https://wiki.proxy.example.test/`;
    expect(done).toEqual({ status: 0, err: "", out: `Logged in to application wiki.\nReach it with this certificate, for example:\n\n  ${curl}\n` });
    const identity = fromX509Certificate(new X509Certificate(await readFile(cert)));
    expect(identity).toMatchObject({ name: "ann", route: { kind: "app", name: "wiki" } });
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    const parts = { uri: "https://wiki.proxy.example.test", ca, cert, key, curl };
    for (const [format, text] of Object.entries(parts)) expect((await tsh("apps", "config", "wiki", `--format=${format}`)).out).toBe(`${text}\n`);
    expect(JSON.parse((await tsh("apps", "config", "-f", "json")).out)).toEqual({ name: "wiki", type: "HTTP", ...parts });
    expect((await tsh("apps", "config")).out).toMatch(/Public Address: +https:\/\/wiki\.proxy\.example\.test\n/);
  });

  test("an application that is not HTTP is for tsh proxy app", async () => {
    expect((await tsh("apps", "login", "orders")).out).toBe("Logged in to application orders.\nReach it with: tsh proxy app orders\n");
    expect(await tsh("apps", "config")).toMatchObject({ status: 2, err: expect.stringContaining("orders, wiki") });
    expect((await tsh("apps", "config", "orders", "-f", "uri")).out).toBe("orders.proxy.example.test:443\n");
  });

  test.for([
    ["pg", "--port=0", 2, /application pg has several ports: 5432, 6000-6010\n.*--port=<local port>:<target port>/],
    ["orders", "--port=0:5432", 2, /application orders has no target ports/],
    ["wiki", "--port=0:5432", 2, /application wiki has no target ports/],
    ["pg", "--port=0:0", 2, /--port "0:0" does not name a target port/],
    ["pg", "--port=0:65536", 2, /does not name a target port/],
    ["pg", "--port=0:1:2", 2, /does not name a target port/],
    ["pg", "--port=:5432", 2, /--port "" is not a port/],
    ["pg", "--port=0:22", 4, /access denied: application pg has no port 22; its ports are 5432, 6000-6010/],
  ] as const)("proxy app %s %s is refused in words", async ([name, option, status, words]) => {
    const done = await tsh("proxy", "app", name, option);
    expect(done).toMatchObject({ status, out: "", err: expect.stringMatching(words) });
  });

  test("a target port that the application does not have is refused by the proxy, and audited; of a login to it, the command names a port", async () => {
    const refusals = async () => (await cluster.admin.listEvents({ events: ["auth"] })).eventsJson.filter((json) => json.includes("no port 23;"));
    expect((await tsh("proxy", "app", "pg", "--port=0:23")).err).toMatch(/has no port 23/);
    const [event = "{}"] = await until("it is audited", async () => {
      const found = await refusals();
      return found.length > 0 ? found : undefined;
    });
    expect(JSON.parse(event)).toMatchObject({ event: "auth", user: "ann", app_name: "pg" });
    expect(agent.requests).toEqual([]);
    expect((await tsh("apps", "login", "pg")).out).toBe("Logged in to application pg.\nReach it with: tsh proxy app pg --port=0:5432\n");
    expect((await tsh("apps", "logout", "pg")).status).toBe(0);
  });

  test("logout deletes one certificate, or all", async () => {
    await tsh("apps", "login", "wiki");
    await tsh("apps", "login", "orders");
    expect((await tsh("apps", "logout", "wiki")).out).toBe("Logged out of application wiki.\n");
    expect(await readdir(join(await files(), "certs", "app"))).toEqual(["orders.crt", "orders.key"]);
    expect(await tsh("apps", "config", "wiki")).toMatchObject({ status: 5, err: expect.stringContaining("tsh apps login") });
    expect((await tsh("apps", "logout")).out).toBe("Logged out of all applications: orders.\n");
    expect((await tsh("apps", "logout")).out).toBe("You were not logged in to any application.\n");
  });

  test.for(["hidden", "nothing", "../etc", ""])("%j is refused like a name that does not exist", async (name) => {
    expect(await tsh("apps", "login", name)).toMatchObject({
      status: 5,
      out: "",
      err: expect.stringContaining("does not exist, or your roles do not allow it"),
    });
    expect(await tsh("apps", "logout", name === "" ? "x" : name)).toMatchObject({ status: 5 });
  });
});
