import fc from "fast-check";
import { expect, test } from "vitest";
import { pamOrder } from "./pam-order.ts";

const user = { login: "ann", uid: 1001, gid: 1002, home: "/home/ann", shell: "/bin/sh" };
const identity = { name: "alice", traits: { team: ["db", "web"], none: [] } };
const config = { serviceName: "sshd", environment: {} };
const facts = { user, identity, clientIp: "192.0.2.1" };

test("PAM is told who comes, from where, to whom", () => {
  expect(pamOrder(config, facts)).toEqual({
    PLATFORM_PAM_SERVICE: "sshd",
    PLATFORM_PAM_USER: "ann",
    PLATFORM_PAM_UID: "1001",
    PLATFORM_PAM_GID: "1002",
    PLATFORM_PAM_HOME: "/home/ann",
    PLATFORM_PAM_TTY: "ssh",
    PLATFORM_PAM_RUSER: "alice",
    PLATFORM_PAM_RHOST: "192.0.2.1",
  });
});

test("an address that is not known is left out", () => {
  expect(pamOrder(config, { ...facts, clientIp: "" })).not.toHaveProperty("PLATFORM_PAM_RHOST");
});

test.for([
  [undefined, true, "ssh", undefined],
  ["/dev/pts/3", false, "/dev/pts/3", undefined],
  ["/dev/pts/3", true, "/dev/pts/3", "1"],
] as const)("terminal %s, shell: %s: PAM_TTY is %s, words are shown: %s", ([terminal, isShell, tty, shows]) => {
  const order = pamOrder(config, { ...facts, terminal, isShell });
  expect(order.PLATFORM_PAM_TTY).toBe(tty);
  expect(order.PLATFORM_PAM_SHOWS).toBe(shows);
});

test.for([
  ["fixed", "fixed"],
  ["t-{{external.team}}", "t-db,t-web"],
  ["{{external.none}}", ""],
  ["{{external.other}}", ""],
])("the configured variable %s is %s", ([text, value]) => {
  expect(pamOrder({ ...config, environment: { A: text as string } }, facts).PLATFORM_PAM_SET_A).toBe(value);
});

test("whatever a trait holds, no value has a NUL or is long, and no configured name replaces one of the order", () => {
  const anything = fc.string({ unit: "binary", maxLength: 5000 });
  const names = fc.constantFrom("USER", "UID", "SERVICE", "RHOST", "A");
  fc.assert(
    fc.property(names, fc.array(anything, { maxLength: 4 }), (name, team) => {
      const order = pamOrder(
        { ...config, environment: { [name]: "{{external.team}}" } },
        { ...facts, identity: { name: "alice", traits: { team } } },
      );
      expect(order).toMatchObject({ PLATFORM_PAM_USER: "ann", PLATFORM_PAM_UID: "1001", PLATFORM_PAM_SERVICE: "sshd" });
      expect(order[`PLATFORM_PAM_SET_${name}`]).toMatch(/^[^\0]{0,4096}$/s);
    }),
    { numRuns: 30 },
  );
});
