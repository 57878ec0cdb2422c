import { expect, test } from "vitest";
import { LiveProxies } from "./live-proxies.ts";

test("connected proxies come first; a disconnected one is listed for a day, a removed one not at all", () => {
  let time = Date.parse("2026-01-01T00:00:00Z");
  const proxies = new LiveProxies(() => new Date(time));
  const first = proxies.watching("a", "a.example.com:443");
  const again = proxies.watching("a", "a.example.com:443");
  const second = proxies.watching("b", "[2001:db8::1]:3080");
  expect(proxies.addresses()).toEqual(["a.example.com:443", "[2001:db8::1]:3080"]);
  first[Symbol.dispose]();
  expect(proxies.addresses()[0]).toBe("a.example.com:443");
  again[Symbol.dispose]();
  expect(proxies.addresses()).toEqual(["[2001:db8::1]:3080", "a.example.com:443"]);
  time += 25 * 3_600_000;
  expect(proxies.addresses()).toEqual(["[2001:db8::1]:3080"]);
  proxies.forget("b");
  second[Symbol.dispose]();
  expect(proxies.addresses()).toEqual([]);
});

test("anything but an address is refused, an empty one counts as none", () => {
  const proxies = new LiveProxies(() => new Date());
  expect(() => proxies.watching("a", "http://x/<script>")).toThrow(expect.objectContaining({ code: "invalid" }));
  using _none = proxies.watching("a", "");
  expect(proxies.addresses()).toEqual([]);
});
