import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Offered } from "../../../core/resources/offered.ts";
import { AppSites, type AppSitesFacts, appsDomain } from "./app-sites.ts";

const app = (name: string, details: Readonly<Record<string, string>> = { scheme: "http" }): Offered => ({ kind: "app", name, labels: {}, details });
const tunnel = (...offered: readonly Offered[]) => ({ draining: false, ended: false, offered, offerLimits: {} });

function sites(tunnels: readonly ReturnType<typeof tunnel>[], more: Partial<AppSitesFacts> = {}): AppSites {
  const offers = { offersRevision: 1, all: () => tunnels };
  return new AppSites({ offers, ownNames: ["example.com", "p1.example.com"], domain: "example.com", ...more });
}

describe("the application at a host name", () => {
  const known = sites([
    tunnel(app("wiki"), app("grafana", { scheme: "http", public_addr: "Graphs.example.org" })),
    tunnel(app("wiki"), { ...app("orders"), kind: "db" }),
  ]);

  test.for<readonly [servername: string | undefined, app: string | undefined]>([
    ["wiki.example.com", "wiki"],
    ["WIKI.Example.COM", "wiki"],
    ["wiki.example.com.", "wiki"],
    ["graphs.example.org", "grafana"],
    // Its agent may be away: no page of the proxy appears there.
    ["payroll.example.com", "payroll"],
    ["orders.example.com", "orders"],
    [undefined, undefined],
    ["", undefined],
    ["example.com", undefined],
    ["EXAMPLE.com", undefined],
    ["p1.example.com", undefined],
    ["www.example.org", undefined],
    ["wiki.example.com.evil.test", undefined],
    ["evilexample.com", undefined],
    ["a.wiki.example.com", undefined],
    ["-wiki.example.com", undefined],
    [".example.com", undefined],
    ["192.0.2.7", undefined],
  ])("%s: %s", ([servername, name]) => {
    expect(known.find(servername)?.app).toBe(name);
  });

  test("an application with an address of its own is served there alone", () => {
    expect(known.find("grafana.example.com")).toEqual({ app: "grafana", host: "grafana.example.com", facts: undefined });
    expect(known.find("graphs.example.org")?.facts).toMatchObject({ scheme: "http" });
    expect([known.hostOf("grafana"), known.hostOf("wiki"), known.hostOf("payroll")]).toEqual([
      "graphs.example.org",
      "wiki.example.com",
      "payroll.example.com",
    ]);
  });

  test("no application takes the address of the proxy, of another one by its name, or one that two claim", () => {
    const greedy = sites([
      tunnel(app("wiki"), app("a", { public_addr: "example.com" }), app("b", { public_addr: "wiki.example.com" })),
      tunnel(app("c", { public_addr: "c.example.org" }), app("d", { public_addr: "c.example.org" })),
    ]);
    expect(greedy.find("example.com")).toBeUndefined();
    expect(greedy.find("wiki.example.com")?.app).toBe("wiki");
    expect(greedy.find("c.example.org")).toBeUndefined();
  });

  test("a host that claims the name of an application leads nobody to an address of its own: without agreement there is only the name below the domain", () => {
    const wiki = (address?: string) => tunnel(app("wiki", { scheme: "http", ...(address !== undefined && { public_addr: address }) }));
    for (const tunnels of [
      [wiki(), wiki("evil.test")],
      [wiki("evil.test"), wiki()],
      [wiki("wiki.example.org"), wiki("evil.test"), wiki("evil.test")],
    ]) {
      const claimed = sites(tunnels);
      expect([claimed.find("evil.test"), claimed.hostOf("wiki"), claimed.find("wiki.example.com")?.app]).toEqual([
        undefined,
        "wiki.example.com",
        "wiki",
      ]);
    }
    expect(sites([wiki("Wiki.example.org"), wiki("wiki.example.org")]).hostOf("wiki")).toBe("wiki.example.org");
  });

  test("an agent that drains is not asked", () => {
    expect(sites([{ ...tunnel(app("x", { public_addr: "x.example.org" })), draining: true }]).find("x.example.org")).toBeUndefined();
  });

  test("without a domain only addresses of applications count", () => {
    const alone = sites([tunnel(app("wiki"), app("x", { public_addr: "x.example.org" }))], { domain: undefined });
    expect([alone.find("wiki.example.com"), alone.find("x.example.org")?.app, alone.hostOf("wiki")]).toEqual([undefined, "x", undefined]);
  });

  test("a change of what agents offer counts at once", () => {
    const offers = { offersRevision: 1, all: () => [tunnel(app("x", { public_addr: "x.example.org" }))] };
    const changing = new AppSites({ offers, ownNames: [], domain: undefined });
    expect(changing.find("x.example.org")?.app).toBe("x");
    offers.all = () => [];
    offers.offersRevision = 2;
    expect(changing.find("x.example.org")).toBeUndefined();
  });

  test("whatever the name, an application is found under its own host alone", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.domain(),
          fc.domain().map((one) => `${one}.example.com`),
        ),
        (servername) => {
          const found = known.find(servername);
          if (found === undefined || found.app === "grafana") return;
          expect(`${found.app}.example.com`).toBe(found.host);
          expect(found.app).toMatch(/^[a-z0-9-]{1,63}$/);
        },
      ),
    );
  });
});

test.for<readonly [facts: Parameters<typeof appsDomain>[0], domain: string | undefined]>([
  [{ nodename: "Box" }, "box"],
  [{ nodename: "box", publicAddr: { host: "proxy.example.com" } }, "proxy.example.com"],
  [{ nodename: "box", publicAddr: { host: "192.0.2.7" } }, undefined],
  [{ nodename: "box", publicAddr: { host: "proxy.example.com" }, appsDomain: "apps.example.net" }, "apps.example.net"],
])("the domain of applications: %j", ([facts, domain]) => {
  expect(appsDomain(facts)).toBe(domain);
});
