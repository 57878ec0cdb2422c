import { describe, expect, test } from "vitest";
import { agentConfig } from "../agent/config.ts";
import { controlConfig } from "../control/config.ts";
import { parseConfig } from "../core/config/parse-config.ts";
import type { PlatformConfig } from "../core/config/platform-config.ts";

const head = "version: v3\nplatform:\n  nodename: one\n";

describe("the programs' parts", () => {
  const config = (text: string): PlatformConfig => {
    const { sections, problems: found } = parseConfig(text);
    if (sections === undefined) throw new Error(JSON.stringify(found));
    const { nodename = "host", auth_token, join_params, ca_pin, ...platform } = sections.platform;
    return {
      ...sections,
      platform: { ...platform, nodename, joinMethod: "token", token: auth_token ?? join_params?.token_name, caPins: ca_pin ?? [] },
    };
  };

  test("separate listeners are opened where the mode asks for them", () => {
    const text = `${head}auth_service:\n  proxy_listener_mode: MODE\nproxy_service:\n  web_listen_addr: 127.0.0.1:443\n`;
    expect(controlConfig(config(text.replace("MODE", "separate"))).proxy).toMatchObject({
      webListen: { host: "127.0.0.1", port: 443 },
      sshListen: { host: "127.0.0.1", port: 3023 },
      tunnelListen: { host: "127.0.0.1", port: 3024 },
    });
    expect(controlConfig(config(text.replace("MODE", "multiplex"))).proxy?.tunnelListen).toBeUndefined();
  });

  test("ports of databases are closed unless the file opens them; each has its usual number", () => {
    const proxy = (lines: string) => controlConfig(config(`${head}auth_service: {}\nproxy_service:\n  enabled: yes\n${lines}`)).proxy;
    const none = { listen: undefined, publicAddr: undefined };
    expect(proxy("")).toMatchObject({ databases: { postgres: none, mysql: none, mongodb: none, redis: none }, mysqlVersion: "8.4.0" });
    const keys = ["postgres", "mysql", "mongo", "redis"].map((name) => `  ${name}_listen_addr: 0.0.0.0\n`).join("");
    const listen = (port: number) => ({ listen: { host: "0.0.0.0", port } });
    expect(proxy(`${keys}  mysql_server_version: "10.11.6-MariaDB"\n  postgres_public_addr: db.test\n`)).toMatchObject({
      databases: {
        postgres: { ...listen(5432), publicAddr: { host: "db.test", port: 0 } },
        mysql: listen(3036),
        mongodb: listen(27_017),
        redis: listen(6379),
      },
      mysqlVersion: "10.11.6-MariaDB",
    });
    for (const bad of ["mysql_server_version: 8.0", 'mysql_server_version: "8 0"', "redis_listen_addr: redis://x", "mongo_listen_address: x"]) {
      expect(parseConfig(`${head}auth_service: {}\nproxy_service:\n  ${bad}\n`).problems).toHaveLength(1);
    }
  });

  test("the cluster is named for the node unless it has a name", () => {
    expect(controlConfig(config(`${head}auth_service: {}\n`)).auth?.clusterName).toBe("one");
    expect(controlConfig(config(`${head}auth_service:\n  cluster_name: c.test\n`)).auth?.clusterName).toBe("c.test");
  });

  test("one user's connections are those of the file, or the usual ones", () => {
    const size = (lines: string) => controlConfig(config(`${head}auth_service:\n  enabled: yes\n${lines}`)).auth?.connectionsOfUser;
    expect(size("")).toEqual({ burst: 2_000, perSecond: 50 });
    expect(size("  connections_of_user: { at_once: 300 }\n")).toEqual({ burst: 300, perSecond: 50 });
    expect(size("  connections_of_user: { at_once: 20 }\n")).toEqual({ burst: 20, perSecond: 20 });
    expect(size("  connections_of_user: { per_second: 7 }\n")).toEqual({ burst: 2_000, perSecond: 7 });
  });

  test("an agent joins the proxy of the file, else the control beside it", () => {
    const local = { webAddress: { host: "127.0.0.1", port: 1 }, joinMethod: "token", caPins: ["pin"], token: "secret" };
    const alone = config(`${head}  proxy_server: p.test\n  auth_token: t\nssh_service: {}\n`);
    expect(agentConfig(alone)).toMatchObject({ way: { kind: "proxy", proxyServer: { host: "p.test", port: 3080 } }, token: "t" });
    const beside = config(`${head}auth_service: {}\nproxy_service: {}\nssh_service: {}\n`);
    expect(agentConfig(beside, local)).toMatchObject({
      way: { kind: "proxy", proxyServer: local.webAddress },
      token: "secret",
      joinMethod: "token",
      caPins: ["pin"],
    });
    expect(() => agentConfig(beside)).toThrow("proxy_server");
  });

  test("an agent that joins the auth service listens, and one behind a proxy does not, whatever its keys say", () => {
    const keys = "ssh_service:\n  listen_addr: 10.0.0.5\n  public_addr: [web.test, web.test:22]\n";
    const direct = agentConfig(config(`${head}  auth_server: a.test\n  ca_pin: pin\n  advertise_ip: 192.0.2.1\n${keys}`));
    expect(direct.way).toEqual({
      kind: "direct",
      authServer: { host: "a.test", port: 3025 },
      ports: [
        {
          kind: "ssh",
          listen: { host: "10.0.0.5", port: 3022 },
          publicAddresses: [
            // That of the listener, once it is bound.
            { host: "web.test", port: 0 },
            { host: "web.test", port: 22 },
          ],
        },
      ],
      advertiseIp: "192.0.2.1",
    });
    expect(agentConfig(config(`${head}  proxy_server: p.test\n${keys}`)).way).toEqual({ kind: "proxy", proxyServer: { host: "p.test", port: 3080 } });
    expect(() => agentConfig(config(`${head}  auth_server: a.test\n${keys}`))).toThrow("ca_pin");
    const kube = "kubernetes_service:\n  kubeconfig_file: /k\n  public_addr: kube.test\n";
    const both = agentConfig(config(`${head}  auth_server: a.test\n  ca_pin: pin\n${kube}ssh_service: {}\n`)).way;
    expect(both).toMatchObject({
      ports: [
        { kind: "ssh", listen: { host: "0.0.0.0", port: 3022 } },
        { kind: "kube", listen: { host: "0.0.0.0", port: 3026 }, publicAddresses: [{ host: "kube.test", port: 0 }] },
      ],
    });
    expect(agentConfig(config(`${head}  auth_server: a.test\n  ca_pin: pin\n${kube}`)).way).toMatchObject({ ports: [{ kind: "kube" }] });
  });
});
