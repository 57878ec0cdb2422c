import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { upgradeReasons } from "../../core/versions/upgrade-reason.ts";
import { addSkipped, parseState, type UpdaterState, withoutSkipped } from "./parse-state.ts";

const upgrade = { phase: "watching", from: "1.0.0", to: "1.1.0", started: "2026-01-01T00:00:00Z", boot: "b", before: "ready", tries: 3 } as const;

describe("parseState", () => {
  test("reads a written state back", () => {
    const text = fc.string({ maxLength: 60 });
    const config = fc.record({ file: text, stamp: text });
    const skipped = { version: fc.string({ minLength: 1, maxLength: 60 }), since: text, why: text };
    const state: fc.Arbitrary<UpdaterState> = fc.record(
      {
        updater_version: text,
        host_id: text,
        channel: text,
        current: text,
        target: text,
        reason: fc.constantFrom(...(Object.keys(upgradeReasons) as (keyof typeof upgradeReasons)[])),
        detail: text,
        at: text,
        upgrade: fc.record({
          phase: fc.constantFrom("installing", "watching", "rolling_back", "following"),
          from: text,
          to: text,
          started: text,
          boot: text,
          before: fc.constantFrom("stopped", "silent", "answering", "ready"),
          tries: fc.nat(),
          why: text,
        }),
        skip: fc.array(fc.oneof(fc.record(skipped), fc.record({ ...skipped, config })), { maxLength: 20 }),
      },
      { requiredKeys: ["skip"] },
    );
    fc.assert(
      fc.property(state, (one) => {
        expect(parseState(JSON.stringify({ version: 1, ...one }))).toEqual(one);
      }),
    );
  });

  test.for(["", "{", "null", "[]", '"x"', "17", "\u0000".repeat(512), '{"version":1,"reason":"up_to_da'])("%j is none", (text) => {
    expect(parseState(text)).toBeUndefined();
  });

  test.for([
    null,
    1,
    [],
    {},
    { ...upgrade, phase: "sleeping" },
    { ...upgrade, before: undefined },
    { ...upgrade, to: 1 },
    { ...upgrade, from: "x".repeat(81) },
  ])("an upgrade in progress with %o makes the whole file invalid, since its state is unknown", (value) => {
    expect(parseState(JSON.stringify({ upgrade: value }))).toBeUndefined();
  });

  test("the file of another version of the updater is read as far as possible", () => {
    const text = JSON.stringify({
      version: 9,
      reason: "abducted",
      current: 7,
      target: "1.2.3",
      new: true,
      skip: [1, {}, { version: "1.1.0", since: "s" }],
      upgrade,
    });
    expect(parseState(text)).toEqual({ target: "1.2.3", skip: [{ version: "1.1.0", since: "s", why: "" }], upgrade });
  });

  test.for([null, 1, [], {}, { file: 1, stamp: "s" }, { file: "f" }, { file: "f", stamp: "s".repeat(81) }, { file: "f".repeat(501), stamp: "s" }])(
    "a refused configuration of the form %o is left out: the version stays skipped",
    (config) => {
      const skip = [{ version: "1.1.0", since: "s", why: "w", config }];
      expect(parseState(JSON.stringify({ skip, upgrade: { ...upgrade, config } }))).toEqual({
        upgrade,
        skip: [{ version: "1.1.0", since: "s", why: "w" }],
      });
    },
  );

  test("a refused configuration of an upgrade that is rolled back is read back", () => {
    const one = { ...upgrade, config: { file: "/etc/platform.yaml", stamp: "" } };
    expect(parseState(JSON.stringify({ upgrade: one }))?.upgrade).toEqual(one);
  });

  test("invalid counts of attempts count as none", () => {
    for (const tries of [-1, 1.5, "3", null, 1e300]) expect(parseState(JSON.stringify({ upgrade: { ...upgrade, tries } }))?.upgrade?.tries).toBe(0);
  });

  test("it never throws on any text, and every accepted text stays bounded", () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => `{"upgrade":${json},"skip":[${json}]}`),
    );
    fc.assert(fc.property(text, (one) => void parseState(one)));
    expect(parseState(JSON.stringify({ detail: "x".repeat(10_000) }))?.detail).toHaveLength(500);
  });
});

describe("skipped versions", () => {
  test("are listed once, the newest last, twenty at most", () => {
    let skip = addSkipped([], { version: "1.0.0", since: "a", why: "x".repeat(2000) });
    expect(skip[0]?.why).toHaveLength(500);
    skip = addSkipped(skip, { version: "1.0.0", since: "b", why: "y" });
    expect(skip).toEqual([{ version: "1.0.0", since: "b", why: "y" }]);
    for (let patch = 1; patch <= 30; patch += 1) skip = addSkipped(skip, { version: `1.0.${patch}`, since: "c", why: "" });
    expect(skip.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, index) => `1.0.${index + 11}`));
    expect(withoutSkipped(skip, "1.0.30")).toHaveLength(19);
  });
});
