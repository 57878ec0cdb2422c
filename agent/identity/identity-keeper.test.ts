import { expect, test } from "vitest";
import { credentialsValidity, type HostCredentials } from "../../core/api/host-credentials.ts";
import { pickTrustedKeys } from "../../core/api/trusted-keys.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { until } from "../../test/world/until.ts";
import { IdentityKeeper, nextRenewal } from "./identity-keeper.ts";

test.for([
  [0, 300],
  [0.5, 350],
  [0.999_999, 400],
] as const)("with %d drawn, renewal comes after about %i of 1,000 s", ([random, seconds]) => {
  const validity = { from: new Date(0), to: new Date(1_000_000) };
  expect(nextRenewal(validity, random)).toBeCloseTo(seconds * 1000, -1);
});

test("a reversed validity is due at once", () => {
  expect(nextRenewal({ from: new Date(5000), to: new Date(0) }, 0.5)).toBe(5000);
});

test("after a rotation it renews within the time that the auth service states for all hosts", async () => {
  const [cluster, other] = [await insideAuthorities(), await insideAuthorities()];
  const held = await cluster.host("web-1");
  const start = credentialsValidity(held).from.getTime();
  let now = start;
  const seen = { saves: 0, renewals: [] as number[] };
  const store = {
    load: async () => held,
    save: async () => {
      seen.saves += 1;
    },
    peek: async () => held,
  };
  const client = async () => {
    seen.renewals.push(now - start);
    throw new PlatformError("unavailable", "not now");
  };
  const join = async () => expect.fail("it has an identity");
  const keeper = await IdentityKeeper.open({ store, hostname: "web-1", names: [], log: silentLog, join, client, now: () => now, random: () => 0.5 });
  const end = new AbortController();
  const keeping = keeper.keep(end.signal);
  // Each set of keys makes it look at the clock again.
  for (const [index, seconds] of [0, 20, 50].entries()) {
    now = start + seconds * 1000;
    const keys = { ...pickTrustedKeys(held), hostCaSsh: [other.hostCaSsh, cluster.hostCaSsh], userCaPem: [String(index)] };
    keeper.learn({ ...keys, renewalSpreadMs: 100_000 });
    await until("it has stored the keys", () => seen.saves > index);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  }
  await until("it renews", () => seen.renewals.length > 0);
  expect(seen.renewals).toEqual([50_000]);
  end.abort();
  await keeping;
});

test("a replaced process takes what its successor has renewed and stored; it neither renews nor writes", async () => {
  const cluster = await insideAuthorities();
  const held = await cluster.host("web-1");
  const renewed = { ...(await cluster.host("web-1")), hostId: held.hostId };
  const { from, to } = credentialsValidity(held);
  let now = from.getTime();
  /** What the successor keeps; an error: it cannot be read. */
  let stored: HostCredentials | PlatformError = held;
  const seen = { peeks: 0, calls: 0 };
  const never = async () => {
    seen.calls += 1;
    throw new PlatformError("internal", "a replaced process does not do this");
  };
  const store = {
    load: async () => held,
    save: never,
    peek: async () => {
      seen.peeks += 1;
      if (stored instanceof PlatformError) throw stored;
      return stored;
    },
  };
  const options = { hostname: "web-1", names: [], log: silentLog, random: () => 0.5, napMs: 1 };
  const keeper = await IdentityKeeper.open({ ...options, store, join: never, client: never, now: () => now });
  const [retire, end] = [new AbortController(), new AbortController()];
  const keeping = keeper.keep(retire.signal);
  retire.abort();
  await keeping;
  const following = keeper.follow(end.signal);
  now += 0.35 * (to.getTime() - now);
  const peeked = async () => {
    const { peeks } = seen;
    await until("it has peeked at the store", () => seen.peeks > peeks + 1);
  };
  for (const other of [held, new PlatformError("invalid", "not readable"), await cluster.host("web-1")]) {
    stored = other;
    await peeked();
    expect(keeper.current()).toBe(held);
  }
  // It heard of them itself, after its successor had written the file.
  const keys = { ...pickTrustedKeys(held), userCaPem: ["new"] };
  keeper.learn(keys);
  stored = renewed;
  await until("it has the newer ones", () => keeper.current().tlsCertificate === renewed.tlsCertificate);
  expect(keeper.current()).toEqual({ ...renewed, ...keys });
  end.abort();
  await following;
  expect(seen.calls).toBe(0);
});
