import { expect, test } from "vitest";
import { changeText } from "./change-text.ts";

test.for([
  [{ kind: "ssh", name: "web-1", as: ["root"] }, "host web-1 as root"],
  [{ kind: "ssh", name: "web-1", as: ["a", "b", "c"] }, "host web-1 as a, b and c"],
  [{ kind: "db", name: "orders", as: ["*"] }, "database orders as any user"],
  [{ kind: "app", name: "wiki", as: [] }, "application wiki"],
  [{ kind: "kube", name: "prod", as: ["get of pod a/* in group dev"] }, "Kubernetes cluster prod: get of pod a/* in group dev"],
  [{ kind: "rule", name: "role", as: ["list", "read"] }, "list and read of role documents"],
] as const)("%j is: %s", ([change, text]) => {
  expect(changeText({ ...change, as: [...change.as] })).toBe(text);
});
