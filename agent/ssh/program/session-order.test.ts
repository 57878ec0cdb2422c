import { expect, test } from "vitest";
import { sessionOrder } from "./session-order.ts";

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
