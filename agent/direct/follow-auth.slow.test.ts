import { expect, test } from "vitest";
import { type ErrorCode, PlatformError } from "../../core/errors/platform-error.ts";
import type { Offered } from "../../core/resources/offered.ts";
import { until } from "../../test/world/until.ts";
import { answering, silence, stage } from "./testing/follow-stage.ts";

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

test("a connection that is silent while the one before works is replaced, and that one stays", async () => {
  let tries = 0;
  const { seen, follow } = stage(async function* (signal) {
    tries += 1;
    if (tries !== 2) yield* answering(signal);
    await silence(signal);
  });
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("the first watch works", () => follow.isUp);
  follow.moveWatch();
  await until("the third watch works", () => seen.connected === 2);
  expect(follow.isUp).toBe(true);
  stop.abort();
  await running;
  expect(seen).toMatchObject({ renewed: 1, dropped: 0, logged: [] });
});

test("a connection that ends before the next one is answered is logged", async () => {
  let tries = 0;
  const cut = new AbortController();
  const { seen, follow } = stage(async function* (signal) {
    tries += 1;
    if (tries === 2) cut.abort();
    if (tries === 2) await silence(signal);
    yield* answering(tries === 1 && signal !== undefined ? AbortSignal.any([signal, cut.signal]) : signal);
  });
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("the first watch works", () => follow.isUp);
  follow.moveWatch();
  await until("it is logged", () => seen.logged.length > 0);
  expect(seen.logged[0]).toContain("the connection ended before the next one was answered");
  await until("the third watch works", () => follow.isUp);
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

/** Follows an auth service that refuses the host's list with this code until the host is up; `rest` then goes on without the refusal. */
async function afterRefused(code: ErrorCode, rest: (staged: ReturnType<typeof stage>, reportedAgain: () => Promise<unknown>) => Promise<void>) {
  const staged = stage(answering);
  const { seen, facts, follow } = staged;
  facts.offered = [{ kind: "kube", name: "prod", labels: {} }];
  facts.refuseOffers = new PlatformError(code, "the auth service does not take them now");
  const stop = new AbortController();
  const running = follow.run(stop.signal);
  await until("it is up", () => follow.isUp);
  expect(seen.offers).toEqual([]);
  facts.refuseOffers = undefined;
  await rest(staged, async () => {
    const reports = seen.reports.length;
    await until("it has reported itself again", () => seen.reports.length > reports + 1);
  });
  stop.abort();
  await running;
}

test.for(["limit", "internal", "unauthenticated"] as const)("offers refused with %s are reported again with the next report", async (code) => {
  await afterRefused(code, async ({ seen }, reportedAgain) => {
    await until("the list is reported", () => seen.offers.length > 0);
    await reportedAgain();
    expect(seen).toMatchObject({ offers: [["kube/prod"]], connected: 1 });
  });
});

test.for(["invalid", "denied", "unsupported"] as const)("offers refused with %s are not reported again before they change", async (code) => {
  await afterRefused(code, async ({ seen, facts, follow }, reportedAgain) => {
    await reportedAgain();
    expect(seen.offers).toEqual([]);
    facts.offered = [{ kind: "kube", name: "dev", labels: {} }];
    follow.tell();
    await until("the change is reported", () => seen.offers.length > 0);
    expect(seen.offers).toEqual([["kube/dev"]]);
  });
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
