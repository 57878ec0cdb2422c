import { expect, test } from "vitest";
import { appAddress, launchPath } from "./app-address.ts";

test("an application has its own address, or one below the proxy's", () => {
  expect(appAddress({ name: "grafana", public_addr: "g.example.com" }, "p.test:443")).toBe("g.example.com");
  expect(appAddress({ name: "grafana" }, "p.test:443")).toBe("grafana.p.test");
  expect(appAddress({ name: "grafana" }, "p.test:3080")).toBe("grafana.p.test:3080");
});

test("an address never leaves the page that opens it", () => {
  expect(launchPath("../../evil")).toBe("/web/launch/..%2F..%2Fevil");
});
