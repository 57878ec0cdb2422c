import { createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import { openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";
import { type Registered, TunnelRegistry } from "./registry.ts";
import { SilenceWatch, StatusReports } from "./report-node.ts";
import { fakeTunnel, hostIdentity } from "./testing/fake-tunnel.ts";

describe("hosts that stop responding", () => {
  test("a host that is silent in all of its tunnels is reported after 20 s, once, and again when it is heard", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(generateKeys()) });
    const auth = t.auth.localClient("proxy");
    await auth.reportNode({ hostId, hostname: "web1", version: "1", connected: true });
    const registry = new TunnelRegistry<Registered>();
    const quiet = { a: 0, b: 0 };
    for (const which of ["a", "b"] as const) {
      registry.add(fakeTunnel({ id: hostId, hostname: "web1", silentFor: () => quiet[which] }));
    }
    const watch = new SilenceWatch(registry, { auth, log: silentLog });
    const look = (a: number, b: number): void => {
      Object.assign(quiet, { a, b });
      watch.look(0);
    };
    const connected = async () => {
      const { json } = await t.admin.getResource({ kind: "node", name: hostId });
      return (JSON.parse(json) as { status: { connected: boolean } }).status.connected;
    };
    look(20_000, 19_999);
    look(19_999, 20_000);
    expect(await connected()).toBe(true);
    look(20_000, 20_000);
    await until("the silent host is reported", async () => !(await connected()));
    await t.auth.look();
    expect((await t.events("agent.gone")).map(({ reason }) => reason)).toEqual(["it did not respond for 20 s"]);
    look(22_000, 0);
    await until("the host is heard again", connected);
  });
});

/** Until so many reports have come; no timer runs meanwhile. */
async function heardOf(heard: readonly string[], count: number): Promise<void> {
  for (let turn = 0; turn < 1_000 && heard.length < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("hosts' own reports", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** An auth service that notes how many sessions each host was reported with. */
  function service(fails = false) {
    const heard: string[] = [];
    const transport = createRouterTransport(({ service: serve }) => {
      serve(AuthService, {
        reportNode: ({ hostname, statusJson }) => {
          heard.push(`${hostname} ${(JSON.parse(statusJson) as { sessions: number }).sessions}`);
          if (fails) throw new PlatformError("unavailable", "away");
          return {};
        },
      });
    });
    const stop = new AbortController();
    const reports = new StatusReports({ auth: createClient(AuthService, transport), log: silentLog, signal: stop.signal });
    const says = (hostname: string, sessions: number, ended = false): void =>
      reports.changed({
        ...fakeTunnel({ id: `id-${hostname}`, ended }),
        facts: { hostname, labels: {}, services: ["ssh"], version: "1", status: { upgrader: "none", sessions } },
      });
    return { heard, heardOf: (count: number) => heardOf(heard, count), says, stop };
  }

  test("a host is reported at once, and then at most every five seconds with what it said last", async () => {
    const { heard, heardOf, says } = service();
    for (let sessions = 1; sessions <= 100; sessions += 1) says("web-1", sessions);
    says("web-2", 7);
    await heardOf(2);
    expect(heard).toEqual(["web-1 1", "web-2 7"]);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(heard).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    await heardOf(3);
    expect(heard).toEqual(["web-1 1", "web-2 7", "web-1 100"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(heard).toHaveLength(3);
    says("web-1", 101);
    await heardOf(4);
    expect(heard.at(-1)).toBe("web-1 101");
  });

  test("nothing is reported of a tunnel that has ended, or when the proxy stops", async () => {
    const { heard, says, stop } = service();
    says("gone", 1, true);
    says("web-1", 1);
    says("web-1", 2);
    stop.abort();
    says("web-2", 1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(heard).toEqual(["web-1 1"]);
  });

  test("lists of resources follow one another: the last one is reported last, and those between are left out", async () => {
    const heard: string[] = [];
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transport = createRouterTransport(({ service: serve }) => {
      serve(AuthService, {
        reportOffered: async ({ offered }) => {
          const names = offered.map(({ name }) => name).join();
          heard.push(`${names} began`);
          await gates[heard.length === 1 ? 0 : 1]?.promise;
          heard.push(`${names} kept`);
          return {};
        },
      });
    });
    const reports = new StatusReports({ auth: createClient(AuthService, transport), log: silentLog, signal: new AbortController().signal });
    const identity = hostIdentity("h");
    const offer = (name: string) => reports.offered({ identity, offered: [{ kind: "db", name, labels: {} }] });
    const all = [offer("one"), offer("two"), offer("three")];
    // The answer to the later list would have come first.
    gates[1]?.resolve();
    await heardOf(heard, 1);
    expect(heard).toEqual(["one began"]);
    gates[0]?.resolve();
    await Promise.all(all);
    expect(heard).toEqual(["one began", "one kept", "three began", "three kept"]);
    await offer("four");
    expect(heard.at(-1)).toBe("four kept");
  });

  test("a failed report does not harm the proxy, and the next one is sent", async () => {
    const { heard, heardOf, says } = service(true);
    says("web-1", 1);
    await vi.advanceTimersByTimeAsync(5_000);
    says("web-1", 2);
    await heardOf(2);
    expect(heard).toEqual(["web-1 1", "web-1 2"]);
  });
});
