import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import type { ClusterProxy } from "../../core/resources/proxy.ts";
import { anyProxy } from "./next-tunnels.ts";
import { ProxyTries } from "./proxy-tries.ts";

const home = "lb.example.com:443";
const proxy = (id: string, addr = `${id}.example.com:443`, since = "2026-01-01T00:00:00Z"): ClusterProxy => ({ id, name: id, addr, since });
const fresh = (): ProxyTries => new ProxyTries({ home, random: () => 0.999 });
const fail = (tries: ProxyTries, id: string, times: number, hasOthers = true): void => {
  for (let count = 0; count < times; count += 1) tries.failed(id, { livedMs: 0, now: 0, hasOthers });
};
const notBefore = (tries: ProxyTries, id: string): number | undefined => tries.wanted.find((one) => one.proxy === id)?.notBefore;

test("without a list, any proxy that answers where the host joined", () => {
  const tries = fresh();
  expect(tries.wanted).toEqual([{ proxy: anyProxy, notBefore: 0 }]);
  expect(tries.address(anyProxy)).toBe(home);
  tries.failed("a", { livedMs: 100, now: 1000, hasOthers: false });
  expect(notBefore(tries, anyProxy)).toBeGreaterThan(1000);
});

test("the last failure is known until a tunnel is up; another proxy than the wanted one is none", () => {
  const tries = fresh();
  const log = (code: "unavailable" | "conflict", message: string): void =>
    tries.logFailure(new PlatformError(code, message), { id: anyProxy, at: home, now: 0, log: silentLog });
  expect(tries.problem).toBeUndefined();
  log("unavailable", "could not resolve lb.example.com");
  log("conflict", "this address leads to a proxy that has a tunnel already");
  expect(tries.problem).toMatchObject({ code: "unavailable", message: "could not resolve lb.example.com" });
  tries.met("a", home);
  expect(tries.problem).toBeUndefined();
});

test("a proxy never met is tried at its own address and where the host joined, alternately", () => {
  const tries = fresh();
  tries.want([proxy("a"), proxy("b")]);
  const addresses = [0, 1, 2, 3].map(() => {
    const address = tries.address("b");
    fail(tries, "b", 1);
    return address;
  });
  expect(addresses).toEqual(["b.example.com:443", home, "b.example.com:443", home]);
});

test("several behind one address are tried there, and only there", () => {
  const tries = fresh();
  tries.want([proxy("a", home), proxy("b", home)]);
  fail(tries, "b", 3);
  expect(tries.address("b")).toBe(home);
});

test("a proxy that was met is tried there, and occasionally elsewhere: an address that never led to it delays nothing", () => {
  const tries = fresh();
  tries.met("a", home);
  tries.want([proxy("a", "unknown.internal:3080")]);
  const addresses = Array.from({ length: 10 }, () => {
    const address = tries.address("a");
    fail(tries, "a", 1);
    return address;
  });
  expect(addresses.filter((address) => address !== home)).toEqual(["unknown.internal:3080", "unknown.internal:3080"]);
});

test("a proxy that has come back is tried at once, one that left the list is not tried any more", () => {
  const tries = fresh();
  tries.want([proxy("a"), proxy("b")]);
  fail(tries, "b", 5);
  expect(notBefore(tries, "b")).toBeGreaterThan(0);
  tries.want([proxy("a"), proxy("b")]);
  expect(notBefore(tries, "b")).toBeGreaterThan(0);
  tries.want([proxy("a"), proxy("b", undefined, "2026-01-02T00:00:00Z")]);
  expect(notBefore(tries, "b")).toBe(0);
  tries.want([proxy("a")]);
  expect(tries.wanted.map((one) => one.proxy)).toEqual(["a"]);
});

test("attempts are bounded: rare after many failures while another proxy is up, frequent when none is", () => {
  const tries = fresh();
  tries.want([proxy("a"), proxy("b")]);
  fail(tries, "b", tries.patience);
  expect(notBefore(tries, "b")).toBeLessThanOrEqual(30_000);
  fail(tries, "b", 1);
  expect(notBefore(tries, "b")).toBeGreaterThan(200_000);
  tries.hurry(0);
  expect(notBefore(tries, "b")).toBeLessThanOrEqual(8_000);
});

test("behind a balancer that leads to others, attempts are frequent, and rare once there were enough for every proxy", () => {
  const tries = fresh();
  tries.want([proxy("a", home), proxy("b", home)]);
  const meet = (): void => tries.failed("b", { livedMs: 0, now: 0, hasOthers: true, metAnother: true });
  for (let count = 0; count < tries.patience; count += 1) {
    meet();
    expect(notBefore(tries, "b")).toBeLessThanOrEqual(2_000);
  }
  meet();
  expect(notBefore(tries, "b")).toBeGreaterThan(200_000);
});
