import { expect, test } from "vitest";
import { silentLog } from "../../../../core/log/log.ts";
import { OpenSockets } from "./open-sockets.ts";

function given() {
  const stop = new AbortController();
  const open = new OpenSockets({ auth: { checkAppSessions: () => expect.fail() }, log: silentLog, signal: stop.signal });
  const add = (user: string, id: string) => open.add({ user, credential: { id } }, () => {});
  return { add, [Symbol.dispose]: () => stop.abort() };
}

test("a session has 20 open at a time", () => {
  using world = given();
  const [first] = Array.from({ length: 20 }, () => world.add("ann", "s1"));
  expect(() => world.add("ann", "s1")).toThrow(expect.objectContaining({ code: "limit", message: expect.stringMatching(/of one session$/) }));
  first?.();
  world.add("ann", "s1");
});

test("a user has 60 open at a time, however many sessions there are; what is closed twice counts once", () => {
  using world = given();
  const closes = Array.from({ length: 60 }, (_, at) => world.add("ann", `s${at % 5}`));
  expect(() => world.add("ann", "s9")).toThrow(expect.objectContaining({ code: "limit", message: expect.stringMatching(/of one user$/) }));
  world.add("bob", "s10");
  closes[0]?.();
  closes[0]?.();
  world.add("ann", "s9");
  expect(() => world.add("ann", "s9")).toThrow(/of one user/);
});
