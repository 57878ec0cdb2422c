import { expect, test } from "vitest";
import { runCommand } from "../../test/inside/run-command.ts";
import { accessRole, openUserSession, ownLogin } from "../../test/inside/ssh-session.ts";
import { nextLook } from "./hold-to-rules.ts";

test.for([
  [0, { isOver: false, asks: false, afterMs: 20_000 }],
  [19_900, { isOver: false, asks: false, afterMs: 250 }],
  [20_000, { isOver: false, asks: true, afterMs: 5000 }],
  [58_000, { isOver: false, asks: true, afterMs: 2000 }],
  [60_000, { isOver: true }],
  [Number.POSITIVE_INFINITY, { isOver: true }],
] as const)("an answer %i ms old: %j", ([age, expected]) => {
  expect(nextLook(age)).toMatchObject(expected);
});

const withLock = (lock: "strict" | "best_effort") => ({ roles: [accessRole([ownLogin], { "*": "*" }, { lock })] });

test("lock: strict ends a session once the locks are unknown for a minute; best_effort lets it go on", async () => {
  let age = 0;
  await using strict = await openUserSession({ ...withLock("strict"), ageMs: () => age });
  await using lenient = await openUserSession({ ...withLock("best_effort"), ageMs: () => age });
  expect((await runCommand(strict.client, "echo in")).stdout.toString()).toBe("in\n");
  age = 60_000;
  await using late = await openUserSession({ ...withLock("strict"), ageMs: () => age });
  await late.served;
  expect(late.events).toContainEqual(expect.objectContaining({ event: "client.disconnect", reason: expect.stringContaining("(lock: strict)") }));
  expect((await runCommand(lenient.client, "echo on")).stdout.toString()).toBe("on\n");
});
