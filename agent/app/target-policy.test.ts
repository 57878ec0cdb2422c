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

test.for([
  ["169.254.169.254", "most clouds"],
  ["169.254.170.2", "containers at AWS (ECS)"],
  ["169.254.170.23", "pods at AWS (EKS)"],
  ["fd00:ec2::254", "AWS"],
  ["fd00:0ec2:0:0:0:0:0:23", "pods at AWS (EKS)"],
  ["fd20:ce::254", "Google"],
  ["fe80::a9fe:a9fe%eth0", "OpenStack"],
  ["fd00:42::42", "Scaleway"],
  ["168.63.129.16", "Azure"],
  ["100.100.100.200", "Alibaba"],
  ["192.0.0.192", "Oracle"],
  ["::ffff:192.0.0.192", "mapped"],
  ["::ffff:c000:c0", "mapped, in hexadecimal"],
  ["::FFFF:6464:64C8", "mapped, in capitals"],
  ["64:ff9b::a9fe:aa17", "NAT64"],
  ["64:ff9b::192.0.0.192", "NAT64"],
] as const)("an agent does not go to %s, a metadata service (%s), by address or by name", async ([address]) => {
  expect(() => appTargets({ unix: [] }).check(address)).toThrow(/target_policy/);
  const family = address.includes(":") ? 6 : 4;
  for (const all of [true, false]) expect(((await resolve({ unix: [] }, [{ address, family }], all)) as PlatformError).code).toBe("denied");
});

test.for(["192.0.0.8", "100.100.100.201", "64:ff9b::a00:1", "fd00:ec3::254", "fd12:3456::254"])("an agent goes to %s", (address) => {
  expect(() => appTargets({ unix: [] }).check(address)).not.toThrow();
});

// The system reads such names as addresses, and a dot ends a name of the DNS.
test.for(["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "169.254.169.254."])(
  "%s leads to no metadata service",
  async (host) => {
    const targets = appTargets({ unix: [] });
    targets.check(host);
    const error = await new Promise<NodeJS.ErrnoException | null>((done) => targets.lookup(host, { all: true }, done));
    expect(["denied", "ENOTFOUND", "EAI_AGAIN"]).toContain(error?.code);
  },
);
