import { describe, expect, test } from "vitest";
import { findAnswer, type PingFacts, pingAnswer } from "./ping.ts";

const common: PingFacts = {
  clusterName: "example",
  version: "3.4.5",
  multiplex: true,
  nodename: "box",
  webListen: { host: "0.0.0.0", port: 443 },
};
const web = "0.0.0.0:443";

const cases: readonly { name: string; facts: PingFacts; ssh: object; tls: boolean }[] = [
  {
    name: "multiplex with nothing else configured",
    facts: common,
    tls: true,
    ssh: {
      listen_addr: web,
      tunnel_listen_addr: web,
      web_listen_addr: web,
      public_addr: "box:443",
      ssh_public_addr: "box:443",
      ssh_tunnel_public_addr: "box:443",
    },
  },
  {
    name: "multiplex with every public address: the web address serves all",
    facts: {
      ...common,
      publicAddr: { host: "p.example.com", port: 443 },
      sshPublicAddr: { host: "ssh.example.com", port: 3023 },
      tunnelPublicAddr: { host: "tun.example.com", port: 3024 },
    },
    tls: true,
    ssh: {
      listen_addr: web,
      tunnel_listen_addr: web,
      web_listen_addr: web,
      public_addr: "p.example.com:443",
      ssh_public_addr: "p.example.com:443",
      ssh_tunnel_public_addr: "p.example.com:443",
    },
  },
  {
    name: "separate listeners without public addresses: their ports at the public host",
    facts: {
      ...common,
      multiplex: false,
      publicAddr: { host: "p.example.com", port: 8443 },
      sshListen: { host: "0.0.0.0", port: 3023 },
      tunnelListen: { host: "::", port: 3024 },
    },
    tls: false,
    ssh: {
      listen_addr: "0.0.0.0:3023",
      tunnel_listen_addr: "[::]:3024",
      web_listen_addr: web,
      public_addr: "p.example.com:8443",
      ssh_public_addr: "p.example.com:3023",
      ssh_tunnel_public_addr: "p.example.com:3024",
    },
  },
  {
    name: "separate listeners with public addresses",
    facts: {
      ...common,
      multiplex: false,
      sshListen: { host: "0.0.0.0", port: 40023 },
      tunnelListen: { host: "0.0.0.0", port: 40024 },
      sshPublicAddr: { host: "s", port: 1 },
      tunnelPublicAddr: { host: "t", port: 2 },
    },
    tls: false,
    ssh: {
      listen_addr: "0.0.0.0:40023",
      tunnel_listen_addr: "0.0.0.0:40024",
      web_listen_addr: web,
      public_addr: "box:443",
      ssh_public_addr: "s:1",
      ssh_tunnel_public_addr: "t:2",
    },
  },
];

const bare = { host: "p.example.com", port: 0 };
const own: PingFacts = { ...common, multiplex: false, webListen: { host: "127.0.0.1", port: 18443 } };

test.for<readonly [what: string, facts: PingFacts, open: string, ssh: string, tunnel: string]>([
  ["behind one port", { ...own, multiplex: true, publicAddr: bare }, "p.example.com:18443", "p.example.com:18443", "p.example.com:18443"],
  ["an IPv6 address", { ...own, multiplex: true, publicAddr: { host: "2001:db8::7", port: 0 } }, ...same("[2001:db8::7]:18443")],
  [
    "on listeners of their own",
    {
      ...own,
      publicAddr: bare,
      sshPublicAddr: { host: "s", port: 0 },
      tunnelPublicAddr: { host: "t", port: 0 },
      sshListen: { host: "::", port: 40023 },
      tunnelListen: { host: "::", port: 40024 },
    },
    "p.example.com:18443",
    "s:40023",
    "t:40024",
  ],
])("public addresses without a port get that of their listener: %s", ([, facts, open, ssh, tunnel]) => {
  expect(findAnswer(facts, true).proxy.ssh).toMatchObject({ public_addr: open, ssh_public_addr: ssh, ssh_tunnel_public_addr: tunnel });
});

function same(address: string): readonly [string, string, string] {
  return [address, address, address];
}

describe("ping", () => {
  test.for(cases)("$name", ({ facts, ssh, tls }) => {
    expect(pingAnswer(facts, true)).toEqual({
      auth: { type: "local", second_factor: "otp" },
      proxy: {
        kube: { enabled: true, public_addr: pingAnswer(facts, true).proxy.ssh.public_addr, listen_addr: web },
        ssh,
        db: {
          postgres_public_addr: pingAnswer(facts, true).proxy.ssh.public_addr,
          mysql_listen_addr: "",
          mysql_public_addr: "",
          mongo_public_addr: "",
          redis_public_addr: "",
        },
        app: { domain: pingAnswer(facts, true).proxy.ssh.public_addr.replace(/:\d+$/, "") },
        tls_routing_enabled: tls,
      },
      server_version: "3.4.5",
      min_client_version: "2.0.0",
      cluster_name: "example",
      automatic_upgrades: true,
      edition: "ent",
    });
  });

  test("whether there are automatic upgrades is said as it is", () => {
    expect([findAnswer(common, true).automatic_upgrades, findAnswer(common, false).automatic_upgrades]).toEqual([true, false]);
  });

  test("ports of databases, with their public addresses; PostgreSQL is served at the web address too", () => {
    const at = (port: number): { listen: { host: string; port: number } } => ({ listen: { host: "0.0.0.0", port } });
    const publicAddr = { host: "db.example.com", port: 0 };
    const facts = { ...common, publicAddr: { host: "p.example.com", port: 443 } };
    const databases = {
      postgres: { ...at(5432), publicAddr },
      mysql: at(3036),
      mongodb: { ...at(27_017), publicAddr: { host: "m", port: 1 } },
      redis: {},
    };
    expect(findAnswer({ ...facts, databases }, true).proxy.db).toEqual({
      postgres_public_addr: "db.example.com:5432",
      mysql_listen_addr: "0.0.0.0:3036",
      mysql_public_addr: "p.example.com:3036",
      mongo_public_addr: "m:1",
      redis_public_addr: "",
    });
    expect(findAnswer({ ...facts, databases: { postgres: { publicAddr } } }, true).proxy.db.postgres_public_addr).toBe("db.example.com:443");
  });

  test("find leaves out how people sign in", () => {
    expect(findAnswer(common, false)).not.toHaveProperty("auth");
  });
});
