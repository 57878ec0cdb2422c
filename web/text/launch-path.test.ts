import { expect, test } from "vitest";
import { launchPath } from "./launch-path.ts";

test.for([
  ["grafana.p.test", "/web/launch/grafana.p.test"],
  ["../../evil", "/web/launch/..%2F..%2Fevil"],
  ["a?b#c", "/web/launch/a%3Fb%23c"],
] as const)("the application at %s is opened by %s", ([host, path]) => {
  expect(launchPath(host)).toBe(path);
});
