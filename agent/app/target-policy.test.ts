import type { LookupAddress } from "node:dns";
import { expect, test } from "vitest";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { appTargets } from "./target-policy.ts";

const found: readonly LookupAddress[] = [
  { address: "169.254.169.254", family: 4 },
  { address: "192.0.2.1", family: 4 },
];

function resolve(policy: Parameters<typeof appTargets>[0], addresses: readonly LookupAddress[], all: boolean) {
  const targets = appTargets(policy, (_host, _options, done) => done(null, [...addresses]));
  return new Promise<unknown>((answer) => targets.lookup("a.test", { all }, (error, ...rest) => answer(error ?? rest)));
}

test("the addresses to which a name leads are checked, and only those inside are used", async () => {
  expect(await resolve({ unix: [] }, found, true)).toEqual([[found[1]]]);
  expect(await resolve({ unix: [] }, found, false)).toEqual(["192.0.2.1", 4]);
  expect(((await resolve({ unix: [] }, found.slice(0, 1), true)) as PlatformError).code).toBe("denied");
  expect(await resolve({ deny: [], unix: [] }, found, true)).toEqual([found]);
  expect(((await resolve({ allow: ["10.0.0.0/8"], unix: [] }, found, true)) as PlatformError).code).toBe("denied");
});

test("addresses are checked, and names are not before they lead somewhere", () => {
  const targets = appTargets({ unix: ["/run/app.sock"] });
  expect(() => targets.check("169.254.1.1")).toThrow(/target_policy/);
  expect(() => targets.check("::ffff:169.254.1.1")).toThrow(/target_policy/);
  expect(() => targets.check("fd00:ec2::254")).toThrow(/target_policy/);
  expect(() => targets.check("127.0.0.1")).not.toThrow();
  expect(() => targets.check("metadata.test")).not.toThrow();
  expect([targets.allowsSocket("/run/app.sock"), targets.allowsSocket("/run/docker.sock")]).toEqual([true, false]);
});
