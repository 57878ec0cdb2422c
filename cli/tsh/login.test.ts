import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { checkVersion, reachableProxy } from "./login.ts";

test.for([
  ["1.2.0", "1.0.0", undefined],
  ["1.0.0", "2.0.0", undefined],
  ["1.0.0", "", undefined],
  ["17.0.0", "1.0.0", "this tsh is 17.0.0, newer by a major than the cluster (1.0.0): newer features may not work"],
] as const)("tsh %s and a cluster of %j: %j", ([own, cluster, warning]) => {
  expect(checkVersion({ own, cluster, skip: false })).toBe(warning);
});

test("a tsh that is too old is refused with what to do, unless its user wants to try it", () => {
  const facts = { own: "1.0.0", cluster: "17.0.0" };
  expect(() => checkVersion({ ...facts, skip: false })).toThrow(
    expect.objectContaining({ code: "unsupported", hint: "install 17.0.0 here, or try it with --skip-version-check" }),
  );
  expect(checkVersion({ ...facts, skip: true })).toMatch(/too old for the cluster \(17\.0\.0\)/);
});

test("where no port is given, the one that answers counts", async () => {
  const [there, gone] = [createServer().listen(0, "127.0.0.1"), createServer().listen(0, "127.0.0.1")];
  await Promise.all([once(there, "listening"), once(gone, "listening")]);
  const [open, closed] = [there, gone].map((server) => (server.address() as AddressInfo).port) as [number, number];
  await new Promise((resolve) => gone.close(resolve));
  const host = "127.0.0.1";
  expect(await reachableProxy({ host, port: open, otherPort: closed }, {})).toEqual({ host, port: open });
  expect(await reachableProxy({ host, port: closed, otherPort: open }, {})).toEqual({ host, port: open });
  expect(await reachableProxy({ host, port: closed, otherPort: closed }, {})).toEqual({ host, port: closed });
  expect(await reachableProxy({ host, port: closed }, {})).toEqual({ host, port: closed });
  there.close();
});
