import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { announcedPlaces, proxyCommand, publicAddress, shownAddress, shownPorts } from "./app-places.ts";

const answer = (domain: unknown, address: unknown = "proxy.example.com:3080"): string =>
  JSON.stringify({ proxy: { app: { domain }, ssh: { public_addr: address } } });

test.for<readonly [text: string, places: ReturnType<typeof announcedPlaces>]>([
  [answer("Apps.example.com"), { domain: "apps.example.com", port: 3080 }],
  [answer(""), { domain: "", port: 3080 }],
  [answer(7), { domain: "", port: 3080 }],
  [answer("a b\n"), { domain: "", port: 3080 }],
  [answer("-x"), { domain: "", port: 3080 }],
])("the proxy's answer %s", ([text, places]) => {
  expect(announcedPlaces(text)).toEqual(places);
});

test.for([["{}"], [""], ["null"], ['{"proxy":7}'], [answer("x", "")], [answer("x", { host: "x" })]])("no domain in the answer %s", ([text]) => {
  expect(announcedPlaces(text ?? "").domain).toBe("");
});

test("whatever the answer, there is a port and a domain that a host can have", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.tuple(fc.string(), fc.string()).map(([one, other]) => answer(one, other)),
      ),
      (text) => {
        const { domain, port } = announcedPlaces(text);
        expect(domain).toMatch(/^[a-z0-9.-]*$/);
        expect(port).toBeGreaterThan(0);
      },
    ),
  );
});

describe("the address of an application", () => {
  const places = { domain: "example.com", port: 443, isTrusted: true };
  const web = { name: "wiki", details: { scheme: "http" } };
  const raw = { name: "orders", details: {} };

  test.for<readonly [app: Parameters<typeof shownAddress>[0], change: Partial<typeof places>, shown: string]>([
    [web, {}, "https://wiki.example.com"],
    [web, { port: 3080 }, "https://wiki.example.com:3080"],
    [web, { domain: "" }, ""],
    [{ ...web, details: { scheme: "http", public_addr: "Wiki.example.org" } }, { domain: "" }, "https://wiki.example.org"],
    [raw, {}, "orders.example.com:443"],
    [{ ...web, details: { scheme: "http", public_addr: "x\u001b[2J" } }, {}, ""],
  ])("%j %j: %s", ([app, change, shown]) => {
    expect(shownAddress(app, { ...places, ...change })).toBe(shown);
  });

  test("is a host and the port of the proxy", () => {
    expect(publicAddress(web, { ...places, port: 3080 })).toEqual({ host: "wiki.example.com", port: 3080 });
  });
});

test.for<readonly [details: Readonly<Record<string, string>>, ports: string, more: readonly string[]]>([
  [{ scheme: "tcp" }, "", []],
  [{ scheme: "tcp", tcp_ports: "5432" }, "5432", []],
  [{ scheme: "tcp", tcp_ports: "5432,6000-6010" }, "5432, 6000-6010", ["--port=0:5432"]],
  [{ scheme: "tcp", tcp_ports: "\u001b[2J" }, "", []],
])("the ports in %j, and the command for the first one", ([details, ports, more]) => {
  expect(shownPorts({ name: "pg", details })).toBe(ports);
  expect(proxyCommand({ name: "pg", details })).toEqual(["tsh", "proxy", "app", "pg", ...more]);
});
