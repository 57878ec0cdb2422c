import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { parseDbUri } from "../../../core/resources/db.ts";
import { testDatabase } from "../../../test/inside/database-user.ts";
import type { Database } from "../database.ts";
import { knownReplica } from "./open-member.ts";
import { currentSeeds, knownSeeds, resolveSeeds, type SrvResolver } from "./srv-seeds.ts";

let names = 0;
/** A database under a name that no other test knows. */
function database(query = ""): Database {
  names += 1;
  const uri = `mongodb+srv://c${names}.example.com/${query}`;
  const parsed = parseDbUri("mongodb", uri);
  if (parsed === undefined) throw new Error(uri);
  return { ...testDatabase("mongodb"), uri, ...parsed };
}

const recordsOf = ({ srv = "" }: Database): string => ["_mongodb", "_tcp", srv].join(".");

interface Answers {
  readonly srv?: readonly (readonly [name: string, port: number])[];
  readonly txt?: readonly (readonly string[])[];
}

function resolver({ srv = [["a.example.com", 27_017]], txt }: Answers = {}): SrvResolver & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolveSrv: async (name: string) => {
      asked.push(name);
      return srv.map(([host, port]) => ({ name: host, port, priority: 0, weight: 0 }));
    },
    resolveTxt: async () => {
      if (txt === undefined) throw Object.assign(new Error("queryTxt ENODATA"), { code: "ENODATA" });
      return txt.map((one) => [...one]);
    },
    cancel: () => {},
  };
}

test("members and options come from DNS; the uri's own options outweigh them", async () => {
  const one = database("?readPreference=secondary&authSource=own");
  const dns = resolver({
    srv: [
      ["a.example.com", 27_017],
      ["B.Example.com.", 27_018],
    ],
    txt: [["authSource=admin&repl", "icaSet=rs0"]],
  });
  expect(knownSeeds(one)).toBe(one);
  const seeds = await resolveSeeds(one, dns);
  expect(seeds.addresses).toEqual([
    { host: "a.example.com", port: 27_017 },
    { host: "B.Example.com", port: 27_018 },
  ]);
  expect(seeds.options).toEqual(
    new Map([
      ["authSource", "own"],
      ["replicaSet", "rs0"],
      ["readPreference", "secondary"],
    ]),
  );
  expect(dns.asked).toEqual([recordsOf(one)]);
  expect([knownSeeds(one), await currentSeeds(one)]).toEqual([seeds, seeds]);
  expect(knownReplica(one)).toEqual({ setName: "rs0" });
});

test("what DNS says later counts; while it says nothing, the members of before do", async () => {
  const one = database();
  await resolveSeeds(one, resolver());
  const next = await resolveSeeds(one, resolver({ srv: [["b.example.com", 1]] }));
  expect(next.addresses).toEqual([{ host: "b.example.com", port: 1 }]);
  await expect(resolveSeeds(one, resolver({ srv: [] }))).rejects.toMatchObject({ code: "unavailable" });
  expect(await currentSeeds(one)).toBe(next);
});

test("questions at the same time are one", async () => {
  const one = database();
  const dns = resolver();
  await Promise.all(Array.from({ length: 5 }, () => resolveSeeds(one, dns)));
  expect(dns.asked).toHaveLength(1);
});

test.for<readonly [what: string, answers: Answers, why: RegExp]>([
  ["no member", { srv: [] }, /there are none/],
  ["a member of another domain", { srv: [["a.example.org", 1]] }, /"a\.example\.org" lies outside the domain example\.com/],
  ["a member of a domain with the same end", { srv: [["a.badexample.com", 1]] }, /lies outside/],
  ["a member without a port", { srv: [["a.example.com", 0]] }, /lies outside/],
  ["two TXT records", { txt: [["replicaSet=a"], ["replicaSet=b"]] }, /more than one TXT record/],
  ["an option that only a uri may have", { txt: [["tls=false"]] }, /holds the option "tls"/],
])("%s is unavailable, with what to look at", async ([, answers, why]) => {
  const one = database();
  const hint = `check them with: dig SRV ${recordsOf(one)}`;
  await expect(resolveSeeds(one, resolver(answers))).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(why), hint });
});

test("a resolver that never answers is not waited for", async () => {
  const one = database();
  const late = Promise.withResolvers<never>();
  const dns = { ...resolver(), resolveSrv: () => late.promise, cancel: () => late.reject(new Error("querySrv ECANCELLED")) };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const seeds = expect(resolveSeeds(one, dns)).rejects.toThrow(/ECANCELLED/);
    await vi.advanceTimersByTimeAsync(4_000);
    await seeds;
  } finally {
    vi.useRealTimers();
  }
});

test("no more than 50 members are taken", async () => {
  const seeds = await resolveSeeds(database(), resolver({ srv: Array.from({ length: 80 }, (_, index) => [`m${index}.example.com`, 1] as const) }));
  expect(seeds.addresses).toHaveLength(50);
});

test("any answer of DNS gives members in the domain, or is unavailable", async () => {
  const host = fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("a.example.com", "a.example.com.", ".example.com", "example.com"));
  const srv = fc.array(fc.tuple(host, fc.integer({ min: -1, max: 70_000 })), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      srv,
      fc.option(fc.array(fc.array(fc.string(), { maxLength: 3 }), { maxLength: 2 }), { nil: undefined }),
      async (members, txt) => {
        try {
          const { addresses } = await resolveSeeds(database(), resolver({ srv: members, ...(txt && { txt }) }));
          for (const one of addresses) expect(one.host.toLowerCase().endsWith(".example.com") && one.port > 0).toBe(true);
        } catch (thrown) {
          expect(thrown instanceof PlatformError && thrown.code === "unavailable").toBe(true);
        }
      },
    ),
  );
});
