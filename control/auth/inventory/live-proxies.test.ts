import { describe, expect, test } from "vitest";
import { LiveProxies, ProxyReports } from "./live-proxies.ts";

describe("connected proxies", () => {
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
});

describe("reports of proxies", () => {
  const day = 86_400_000;

  test("an admin is warned of certificates that expire soon and of failed reloads, until the proxy is forgotten or silent", () => {
    let now = new Date("2026-06-01T00:00:00Z");
    const reports = new ProxyReports(() => now);
    const until = (days: number): string => new Date(now.getTime() + days * day).toISOString();
    reports.report("p1", { web_certificates: [{ file: "/a.pem", names: [], until: until(5) }] });
    reports.report("p2", {
      web_certificates: [{ file: "/b.pem", names: [], until: until(60) }],
      failed_reload: { at: "2026-05-31T00:00:00Z", error: "no" },
    });
    const warnings = (): readonly string[] => reports.warnings((id) => `${id}.test:443`);
    expect(reports.certificates().map(({ proxy, file }) => [proxy, file])).toEqual([
      ["p1", "/a.pem"],
      ["p2", "/b.pem"],
    ]);
    expect(warnings()).toEqual([
      "the web certificate of p1.test:443 expires in 5 days: renew /a.pem",
      "the last reload of the proxy p2.test:443 failed at 2026-05-31T00:00:00Z, so that what ran before still runs: no",
    ]);
    reports.forget("p1");
    expect(warnings()).toHaveLength(1);
    now = new Date(now.getTime() + 181_000);
    expect([warnings(), reports.certificates()]).toEqual([[], []]);
  });
});
