import { expect, test } from "vitest";
import { parseTarget } from "./access.ts";

test.for([
  ["web-1", { kind: "ssh", name: "web-1" }],
  ["node/web-1", { kind: "ssh", name: "web-1" }],
  ["host/web-1", { kind: "ssh", name: "web-1" }],
  ["app/grafana", { kind: "app", name: "grafana" }],
  ["db/orders", { kind: "db", name: "orders" }],
  ["kube/prod", { kind: "kube", name: "prod" }],
] as const)("%s is %j", ([text, target]) => {
  expect(parseTarget(text)).toEqual(target);
});

test.for(["role/access", "app/", "constructor/x", "/x"])("%s is refused", (text) => {
  expect(() => parseTarget(text)).toThrow(expect.objectContaining({ code: "invalid" }));
});
