import { once } from "node:events";
import { connect } from "node:tls";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { openAccessSource } from "../access/access-source.ts";
import { HeldRoom } from "../audit/spool-room.ts";
import { followAuthorities } from "../identity/follow-authorities.ts";
import { allAddresses, type DirectOptions, openDirect, ownAddresses } from "./open-direct.ts";

const port = 3022;
const everywhere = { host: "0.0.0.0", port };
const web = { host: "web.test", port: 22 };

test.each([
  { what: "where it listens", way: {}, bound: { host: "10.0.0.5", port }, local: "10.9.9.9", is: ["10.0.0.5:3022"] },
  { what: "on every address: that of the way to the auth service", way: {}, bound: everywhere, local: "10.0.0.5", is: ["10.0.0.5:3022"] },
  { what: "IPv4 inside IPv6", way: {}, bound: { host: "::", port }, local: "::ffff:10.0.0.5", is: ["10.0.0.5:3022"] },
  { what: "IPv6", way: {}, bound: { host: "::", port }, local: "2001:db8::1", is: ["[2001:db8::1]:3022"] },
  {
    what: "advertise_ip before all",
    way: { advertiseIp: "192.0.2.1" },
    bound: { host: "10.0.0.5", port },
    local: "10.0.0.5",
    is: ["192.0.2.1:3022"],
  },
  {
    what: "public addresses behind its own",
    way: { publicAddresses: [web, web] },
    bound: everywhere,
    local: "10.0.0.5",
    is: ["10.0.0.5:3022", "web.test:22"],
  },
  { what: "public addresses alone", way: { publicAddresses: [web] }, bound: everywhere, local: undefined, is: ["web.test:22"] },
  {
    what: "a public address without a port: by the port that was bound",
    way: { publicAddresses: [{ host: "web.test", port: 0 }] },
    bound: { host: "0.0.0.0", port: 22 },
    local: undefined,
    is: ["web.test:22"],
  },
])("$what", ({ way, bound, local, is }) => {
  const given = { publicAddresses: [], ...way };
  const { addresses, shared } = ownAddresses(given, bound, local);
  expect(addresses).toEqual(is);
  expect(shared).toEqual(given.publicAddresses.length > 0 ? ["web.test:22"] : []);
});

test("no more are announced than the auth service accepts", () => {
  const publicAddresses = Array.from({ length: 20 }, (_, n) => ({ host: `a${n}.test`, port }));
  const { addresses, shared } = ownAddresses({ publicAddresses }, everywhere, "10.0.0.5");
  expect(addresses).toHaveLength(8);
  expect(shared.every((one) => addresses.includes(one))).toBe(true);
});

describe("the addresses of a host with several services", () => {
  const portOf = (kind: "ssh" | "kube", publicAddresses: readonly { host: string; port: number }[] = []) => ({
    ...{ kind, publicAddresses },
    port: { address: { host: "0.0.0.0", port: kind === "ssh" ? 3022 : 3026 } },
  });

  test("are those of SSH, and those of the others by kind; only SSH's are names", () => {
    expect(allAddresses({}, [portOf("ssh", [web]), portOf("kube", [{ host: "kube.test", port: 0 }])], "10.0.0.5")).toEqual({
      addresses: ["10.0.0.5:3022", "web.test:22"],
      shared: ["web.test:22"],
      served: { kube: ["10.0.0.5:3026", "kube.test:3026"] },
    });
  });

  test("without SSH are those of the first one", () => {
    const served = { kube: ["192.0.2.1:3026", "kube.test:3026"] };
    expect(allAddresses({ advertiseIp: "192.0.2.1" }, [portOf("kube", [{ host: "kube.test", port: 0 }])], undefined)).toEqual({
      ...{ addresses: served.kube, shared: [], served },
    });
  });

  test("are none while this host does not know its own", () => {
    expect(allAddresses({}, [portOf("kube")], undefined)).toEqual({ addresses: [], shared: [], served: {} });
  });
});

/** An agent that serves a stream as long as there are roles, and the auth service as it sees it. */
async function serving() {
  const cluster = await insideAuthorities();
  const [host, proxy] = [await cluster.host("web-1"), await cluster.host("proxy", { role: "proxy" })];
  const role = JSON.stringify({ kind: "role", version: "v7", metadata: { name: "access" }, spec: {} });
  const answer = { revision: "1", rolesJson: [role], locksJson: [], sessionRecording: "off" };
  const [reported, unwatched, dropped] = [Promise.withResolvers<string>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const auth = { answer, fails: undefined as PlatformError | undefined, reports: 0, reported, unwatched, dropped };
  const client: Awaited<ReturnType<DirectOptions["auth"]["client"]>> = {
    watchAccess: async function* (_request, options) {
      const none = { removedHosts: [], maintenanceRevision: "", proxiesRevision: "", resourcesRevision: "" };
      yield { $typeName: "platform.auth.v1.AccessEvent", revision: answer.revision, ...none };
      if (options?.signal !== undefined) await once(options.signal, "abort");
      unwatched.resolve();
    },
    reportNode: async ({ directAddresses = [] }) => {
      auth.reports += 1;
      reported.resolve(directAddresses[0] ?? "");
      return { $typeName: "platform.auth.v1.ReportNodeResponse", sharesName: false, refusedServices: [], offerLimits: [] };
    },
    reportOffered: async () => ({ $typeName: "platform.auth.v1.ReportOfferedResponse" }),
  };
  const fetch = async () => {
    if (auth.fails !== undefined) throw auth.fails;
    return { ...auth.answer, ...host };
  };
  const access = openAccessSource({ fetch, log: silentLog });
  const identity = { current: () => host, learn: () => {} };
  const end = new AbortController();
  const direct = await openDirect({
    ...{ nodename: "web-1", services: ["ssh"], sockets: new ListenSockets(), log: silentLog, identity, access, askMs: 5 },
    way: {
      kind: "direct",
      authServer: { host: "127.0.0.1", port: 3025 },
      ports: [{ kind: "ssh", listen: { host: "127.0.0.1", port: 0 }, publicAddresses: [] }],
    },
    auth: { client: async () => client, close: () => dropped.resolve(), renew: () => {}, onRenewed: () => {} },
    audit: { record: async () => {}, hold: async (ask) => new HeldRoom(ask, () => {}) },
    authorities: followAuthorities({ access, identity, log: silentLog }, end.signal),
    local: () => undefined,
    serve: async (stream) => {
      access.follow(({ roles }) => void (roles.length === 0 && stream.destroy()), end.signal);
      stream.on("error", () => {}).write("served");
      if (!stream.destroyed) await once(stream, "close");
    },
    status: () => ({ upgrader: "none", sessions: 0 }),
    labels: () => ({}),
    onAccess: access.announce,
    onMaintenance: () => {},
    onResources: () => {},
    offered: () => undefined,
    steady: () => performance.now(),
  });
  const open = async () => {
    const to = parseHostPort(await reported.promise, 0, "address");
    const tls = connect({ ...to, ALPNProtocols: [alpn.direct], rejectUnauthorized: false, cert: proxy.tlsCertificate, key: proxy.tlsPrivateKey });
    tls.on("error", () => {});
    await once(tls, "data");
    return tls;
  };
  return { auth, direct, open, [Symbol.asyncDispose]: async () => await direct.stop(AbortSignal.abort()).then(() => end.abort()) };
}

test("a replaced process is not connected, and a role that is taken away still ends its streams", async () => {
  await using agent = await serving();
  const { auth, direct, open } = agent;
  const stream = await open();
  const ended = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  const { reports } = auth;
  // Its connection has broken without notice: only another one has the news.
  auth.fails = new PlatformError("timeout", "no answer");
  const retired = direct.retire();
  await auth.unwatched.promise;
  await auth.dropped.promise;
  auth.answer = { ...auth.answer, revision: "2", rolesJson: [] };
  auth.fails = undefined;
  await ended;
  await retired;
  expect(direct.isConnected).toBe(false);
  expect(auth.reports).toBe(reports);
});
