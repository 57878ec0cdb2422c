import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { startTinyproxy } from "../world/http-proxy/start-tinyproxy.ts";
import { type Network, openNetwork } from "../world/network.ts";
import { output, run } from "../world/program.ts";
import { until } from "../world/until.ts";

const root = userInfo().uid === 0;

/** A real HTTP proxy in the network, and what the agent's environment says of it. */
interface HttpProxy extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** What the proxy wrote down about its requests. */
  requests(): Promise<string>;
}

const proxies: Readonly<Record<string, (network: Network, dir: string) => Promise<HttpProxy>>> = {
  "squid, http, basic authentication": async ({ proxyAddress, proxy }) => {
    const squid = await startSquid({ address: proxyAddress, netns: proxy });
    return { env: { HTTPS_PROXY: squid.httpUrl }, requests: async () => squid.accessLog(), [Symbol.asyncDispose]: () => squid.stop() };
  },
  "squid, https, basic authentication": async ({ proxyAddress, proxy }) => {
    const squid = await startSquid({ address: proxyAddress, netns: proxy });
    return {
      env: { HTTPS_PROXY: squid.httpsUrl, SSL_CERT_FILE: squid.caFile },
      requests: async () => squid.accessLog(),
      [Symbol.asyncDispose]: () => squid.stop(),
    };
  },
  "tinyproxy, named by HTTP_PROXY alone": async ({ proxyAddress, proxy }) => {
    const tinyproxy = await startTinyproxy({ address: proxyAddress, netns: proxy });
    return { env: { HTTP_PROXY: tinyproxy.httpUrl }, requests: async () => tinyproxy.accessLog(), [Symbol.asyncDispose]: () => tinyproxy.stop() };
  },
};

/** The product's main job: a shell on a host whose firewall lets it reach nothing but an HTTP proxy. Needs root for namespaces. */
describe.runIf(root)("a shell on a host behind a firewall", () => {
  const cases = [
    ["squid, http, basic authentication", "multiplex"],
    ["squid, http, basic authentication", "separate"],
    ["squid, https, basic authentication", "multiplex"],
    ["tinyproxy, named by HTTP_PROXY alone", "multiplex"],
    ["tinyproxy, named by HTTP_PROXY alone", "separate"],
  ] as const;

  test.for(cases)("through %s, %s", { timeout: 120_000 }, async ([kind, mode]) => {
    await using network = await openNetwork();
    await using cluster = await startCluster({ mode, address: network.controlAddress, name: "control.test", netns: network.control });
    await using proxy = await (proxies[kind] as (typeof proxies)[string])(network, cluster.dir);

    // On a busy machine a second may be too short even to try.
    const dropped = await until("the firewall drops what does not go through the proxy", async () => {
      const direct = ["1", "bash", "-c", `exec 3<>/dev/tcp/${network.controlAddress}/${cluster.ports.web}`];
      expect((await run("timeout", direct, { netns: network.agent })).status).not.toBe(0);
      return (await network.dropped()) || undefined;
    });

    await cluster.agent({ name: "web-1", labels: { env: "test" }, netns: network.agent, env: proxy.env });
    const user = await cluster.user("alice", { logins: "root" });
    expect((await user.tsh(["ls"])).stdout).toMatch(/web-1.*env=test/);
    expect((await user.tsh(["ssh", "root@web-1", "id -un; hostname"])).stdout).toBe(`root\n${(await output("hostname", [])).trim()}\n`);
    expect(await proxy.requests()).toMatch(/CONNECT/);
    expect(await network.dropped()).toBe(dropped);
    const listening = await output("ss", ["-ltnH"], { netns: network.agent });
    expect(listening).toBe("");
    const events = await until("the session's end in the audit log", async () => {
      const text = await cluster.admin("audit", "ls", "--format=json");
      return text.includes("session.end") && text;
    });
    for (const name of ["instance.join", "user.login", "session.start", "exec"]) expect(events).toContain(`"${name}"`);
  });

  test("wrong proxy credentials end in a sentence that names the proxy and not the password", { timeout: 60_000 }, async () => {
    await using network = await openNetwork();
    await using cluster = await startCluster({ address: network.controlAddress, name: "control.test", netns: network.control });
    const squid = await startSquid({ address: network.proxyAddress, netns: network.proxy });
    try {
      const env = { HTTPS_PROXY: `http://agent:not-the-password@${network.proxyAddress}:3128` };
      const agent = await cluster.agent({ name: "web-1", netns: network.agent, env, noWait: true });
      const printed = await until("the agent says what is wrong", () => /407[^\n]*/.test(agent.service.printed()) && agent.service.printed());
      expect(printed).toContain(`${network.proxyAddress}:3128`);
      expect(printed).not.toContain("not-the-password");
    } finally {
      await squid.stop();
    }
  });

  test("the agent reads a token file and survives a proxy that is restarted", { timeout: 120_000 }, async () => {
    await using network = await openNetwork();
    await using cluster = await startCluster({ address: network.controlAddress, name: "control.test", netns: network.control });
    const first = await startSquid({ address: network.proxyAddress, netns: network.proxy });
    const token = join(cluster.dir, "token");
    await writeFile(token, `${await cluster.token()}\n`, { mode: 0o600 });
    await cluster.agent({ name: "web-1", netns: network.agent, env: { HTTPS_PROXY: first.httpUrl }, token });
    const user = await cluster.user("alice", { logins: "root" });
    await first.stop();
    const second = await startSquid({ address: network.proxyAddress, netns: network.proxy });
    try {
      const back = await until(
        "a shell through the proxy's successor",
        async () => {
          const done = await user.tsh(["ssh", "root@web-1", "echo back"], { limitMs: 15_000 });
          return done.status === 0 && done;
        },
        90_000,
      );
      expect(back.stdout).toBe("back\n");
    } finally {
      await second.stop();
    }
  });
});
