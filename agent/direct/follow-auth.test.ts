import { once } from "node:events";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { createLog } from "../../core/log/log.ts";
import type { Offered } from "../../core/resources/offered.ts";
import { until } from "../../test/world/until.ts";
import { FollowAuth, type FollowAuthOptions } from "./follow-auth.ts";

type Client = Awaited<ReturnType<FollowAuthOptions["client"]>>;
type Watch = (signal: AbortSignal | undefined) => ReturnType<Client["watchAccess"]>;

const services = {
  served: {} as Readonly<Record<string, readonly string[]>>,
  offered: undefined as readonly Offered[] | undefined,
  refuseOffers: undefined as PlatformError | undefined,
};

/** An auth service as its client sees it: the reports, and how a watch behaves. */
function stage(watch: Watch) {
  const seen = {
    reports: [] as { connected: boolean; ending: string; addresses: readonly string[] }[],
    dropped: 0,
    revisions: [] as string[],
    resources: [] as string[],
    offers: [] as (readonly string[])[],
    connected: 0,
    /** How often the agent checked whether it serves. */
    asked: 0,
  };
  const facts = { addresses: ["10.0.0.5:3022"], refuse: undefined as PlatformError | undefined, serves: true, ...services };
  const client: Client = {
    reportOffered: async ({ offered = [] }) => {
      if (facts.refuseOffers !== undefined) throw facts.refuseOffers;
      seen.offers.push(offered.map(({ kind = "", name = "" }) => `${kind}/${name}`));
      return { $typeName: "platform.auth.v1.ReportOfferedResponse" };
    },
    watchAccess: (_request, options) => watch(options?.signal),
    reportNode: async ({ connected = false, ending = "", directAddresses = [] }) => {
      if (facts.refuse !== undefined) throw facts.refuse;
      seen.reports.push({ connected, ending, addresses: directAddresses });
      return { $typeName: "platform.auth.v1.ReportNodeResponse", sharesName: false, refusedServices: [], offerLimits: [] };
    },
  };
  const follow = new FollowAuth({
    log: createLog({ level: "error", format: "text", write: () => {} }),
    client: async () => client,
    drop: () => {
      seen.dropped += 1;
    },
    facts: () => ({
      hostId: "id",
      hostname: "web-1",
      labels: {},
      services: ["ssh"],
      status: { upgrader: "none", sessions: 0 },
      addresses: facts.addresses,
      shared: [],
      served: facts.served,
    }),
    offered: () => facts.offered,
    onResources: (revision) => seen.resources.push(revision),
    onConnected: () => {
      seen.connected += 1;
    },
    onAccess: (revision) => seen.revisions.push(revision),
    onMaintenance: () => {},
    serves: () => {
      seen.asked += 1;
      return facts.serves;
    },
    steady: () => performance.now(),
    times: { firstMs: 50, heartbeatMs: 100, apartMs: 20 },
  });
  return { seen, facts, follow };
}

/** Like a pending call: aborted by the signal, which is an error. */
async function silence(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) throw new Error("a watch without a signal would never end");
  if (!signal.aborted) await once(signal, "abort");
  signal.throwIfAborted();
}

async function* answering(signal: AbortSignal | undefined) {
  yield {
    $typeName: "platform.auth.v1.AccessEvent" as const,
    revision: "1",
    removedHosts: [],
    maintenanceRevision: "",
    proxiesRevision: "",
    resourcesRevision: "r1",
  };
  await silence(signal);
}

test("it reports at once, periodically, and soon after a change; messages of the watch are passed on", async () => {
  const { seen, facts, follow } = stage(answering);
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it has reported twice", () => seen.reports.length >= 2);
  expect(follow.isUp).toBe(true);
  expect(seen).toMatchObject({ connected: 1, revisions: ["1"], dropped: 0 });
  facts.addresses = ["10.0.0.6:3022"];
  follow.tell();
  await until("the change is reported", () => seen.reports.at(-1)?.addresses[0] === "10.0.0.6:3022");
  stop.abort();
  await running;
  await follow.sayStopped();
  expect(seen.reports.at(-1)).toMatchObject({ connected: false, ending: "stopped" });
});

test("a silent watch is dropped with its connection, and retried", async () => {
  let tries = 0;
  const { seen, follow } = stage(async function* (signal) {
    tries += 1;
    if (tries > 1) yield* answering(signal);
    await silence(signal);
  });
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("the second watch works", () => follow.isUp);
  expect(seen.dropped).toBe(1);
  stop.abort();
  await running;
});

test("a report that is refused ends the watch, and it reconnects once the report is accepted", async () => {
  const { seen, facts, follow } = stage(answering);
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it is up", () => follow.isUp);
  facts.refuse = new PlatformError("denied", "host was removed");
  await until("it is down", () => !follow.isUp);
  facts.refuse = undefined;
  await until("it is up again", () => follow.isUp && seen.connected === 2);
  stop.abort();
  await running;
});

test("while it waits to replace another process it reports nothing, and then at once", async () => {
  const { seen, facts, follow } = stage(answering);
  facts.serves = false;
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it is up", () => follow.isUp);
  follow.tell();
  const { asked } = seen;
  await until("it has checked twice whether it may report", () => seen.asked >= asked + 2);
  expect(seen.reports).toEqual([]);
  facts.serves = true;
  follow.tell();
  await until("it has reported", () => seen.reports.length > 0);
  stop.abort();
  await running;
});

test("what the services offer is reported with each new watch and after each change, and not otherwise", async () => {
  const { seen, facts, follow } = stage(answering);
  const cluster = (name: string): Offered => ({ kind: "kube", name, labels: { env: "test" } });
  facts.offered = [cluster("prod")];
  facts.served = { kube: ["10.0.0.5:3026"] };
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it has reported three times", () => seen.reports.length >= 3);
  expect(seen).toMatchObject({ offers: [["kube/prod"]], resources: expect.arrayContaining(["r1"]) });
  facts.offered = [cluster("prod"), cluster("dev")];
  follow.tell();
  await until("the change is reported", () => seen.offers.length === 2);
  facts.refuse = new PlatformError("unavailable", "the auth service is away");
  await until("it is down", () => !follow.isUp);
  facts.refuse = undefined;
  await until("the list is reported again", () => seen.offers.length === 3);
  stop.abort();
  await running;
  expect(seen.offers).toEqual([["kube/prod"], ["kube/prod", "kube/dev"], ["kube/prod", "kube/dev"]]);
});

test("an auth service that does not take the list keeps the host connected; one that is away does not", async () => {
  const { seen, facts, follow } = stage(answering);
  facts.offered = [{ kind: "kube", name: "prod", labels: {} }];
  facts.refuseOffers = new PlatformError("denied", "access denied: a host of role node may not call reportOffered");
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it reports itself all the same", () => seen.reports.length >= 2);
  expect(follow.isUp).toBe(true);
  facts.refuseOffers = new PlatformError("timeout", "no answer");
  facts.offered = [];
  follow.tell();
  await until("it is down", () => !follow.isUp);
  stop.abort();
  await running;
});

test.for(["limit", "internal", "unauthenticated"] as const)("offers refused with %s are reported again with the next report", async (code) => {
  const { seen, facts, follow } = stage(answering);
  facts.offered = [{ kind: "kube", name: "prod", labels: {} }];
  facts.refuseOffers = new PlatformError(code, "too many reports from this host at once");
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it is up", () => follow.isUp);
  expect(seen.offers).toEqual([]);
  facts.refuseOffers = undefined;
  await until("the list is reported", () => seen.offers.length > 0);
  const reports = seen.reports.length;
  await until("it has reported itself again", () => seen.reports.length > reports + 1);
  stop.abort();
  await running;
  expect(seen).toMatchObject({ offers: [["kube/prod"]], connected: 1 });
});

test.for(["invalid", "denied", "unsupported"] as const)("offers refused with %s are not reported again before they change", async (code) => {
  const { seen, facts, follow } = stage(answering);
  facts.offered = [{ kind: "kube", name: "prod", labels: {} }];
  facts.refuseOffers = new PlatformError(code, "the auth service does not take them");
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it is up", () => follow.isUp);
  facts.refuseOffers = undefined;
  const reports = seen.reports.length;
  await until("it has reported itself again", () => seen.reports.length > reports + 1);
  expect(seen.offers).toEqual([]);
  facts.offered = [{ kind: "kube", name: "dev", labels: {} }];
  follow.tell();
  await until("the change is reported", () => seen.offers.length > 0);
  stop.abort();
  await running;
  expect(seen.offers).toEqual([["kube/dev"]]);
});

test("of offers beyond the limits, those within them are reported", async () => {
  const { seen, facts, follow } = stage(answering);
  const big = { text: "x".repeat(2_000) };
  facts.offered = Array.from({ length: 500 }, (_, n) => ({ kind: "kube", name: `cluster-${n}`, labels: {}, details: big }));
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("they are reported", () => seen.offers.length > 0);
  stop.abort();
  await running;
  expect(seen.offers[0]?.slice(0, 2)).toEqual(["kube/cluster-0", "kube/cluster-1"]);
  expect(seen.offers[0]?.length).toBeGreaterThan(350);
  expect(seen.offers[0]?.length).toBeLessThan(400);
});
