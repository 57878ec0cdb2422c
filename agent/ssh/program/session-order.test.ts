import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { pamOrder, sessionOrder } from "./session-order.ts";

const user = { login: "ann", uid: 1001, gid: 1002, home: "/home/ann", shell: "/bin/sh" };
const least = {
  PLATFORM_ORDER_USER: "ann",
  PLATFORM_ORDER_UID: "1001",
  PLATFORM_ORDER_GID: "1002",
  PLATFORM_ORDER_HOME: "/home/ann",
};

test.for([
  [{ becomes: false }, {}],
  [{ becomes: true, clientIp: "" }, { PLATFORM_ORDER_BECOME: "1" }],
  [
    { becomes: true, clientIp: "192.0.2.1", terminal: { path: "/dev/pts/3", modes: { VERASE: 8, IXON: 0 } } },
    { PLATFORM_ORDER_BECOME: "1", PLATFORM_ORDER_RHOST: "192.0.2.1", PLATFORM_ORDER_TERMINAL: "/dev/pts/3", PLATFORM_ORDER_MODES: "3:8,38:0" },
  ],
] as const)("%j is ordered as %j with the user to become", ([facts, told]) => {
  expect(sessionOrder({ user, ...facts })).toEqual({ ...least, ...told });
});

describe("of PAM", () => {
  const identity = { name: "alice", traits: { team: ["db", "web"], none: [] } };
  const config = { serviceName: "sshd", environment: {} };
  const facts = { identity };

  test("the order names PAM's service and the user, and whether its messages are shown", () => {
    const told = { PLATFORM_ORDER_SERVICE: "sshd", PLATFORM_ORDER_RUSER: "alice" };
    expect(pamOrder(config, facts)).toEqual(told);
    expect(pamOrder(config, { ...facts, shows: true })).toEqual({ ...told, PLATFORM_ORDER_SHOWS: "1" });
  });

  test.for([
    ["fixed", "fixed"],
    ["t-{{external.team}}", "t-db,t-web"],
    ["{{external.none}}", ""],
    ["{{external.other}}", ""],
  ])("the configured variable %s is %s", ([text, value]) => {
    expect(pamOrder({ ...config, environment: { A: text as string } }, facts).PLATFORM_ORDER_SET_A).toBe(value);
  });

  test("for any trait, no value has a NUL or is too long, and no configured name replaces one of the order", () => {
    const anything = fc.string({ unit: anyCharacter, maxLength: 5000 });
    const names = fc.constantFrom("USER", "UID", "SERVICE", "RHOST", "A");
    fc.assert(
      fc.property(names, fc.array(anything, { maxLength: 4 }), (name, team) => {
        const order = pamOrder({ ...config, environment: { [name]: "{{external.team}}" } }, { identity: { name: "alice", traits: { team } } });
        expect(order).toMatchObject({ PLATFORM_ORDER_SERVICE: "sshd", PLATFORM_ORDER_RUSER: "alice" });
        expect(Object.keys(order).sort()).toEqual(["PLATFORM_ORDER_RUSER", "PLATFORM_ORDER_SERVICE", `PLATFORM_ORDER_SET_${name}`]);
        expect(order[`PLATFORM_ORDER_SET_${name}`]).toMatch(/^[^\0]{0,4096}$/s);
      }),
      { numRuns: someRuns(30) },
    );
  });
});
