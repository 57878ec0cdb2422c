import { expect } from "vitest";
import type { Cluster } from "./cluster.ts";
import type { User } from "./cluster-user.ts";
import { holdSession } from "./held-session.ts";

/** A session whose recording must not fall behind ends with the reason once control is killed, and a new one does not begin. */
export async function endsWithControl(cluster: Cluster, user: User, target: string): Promise<void> {
  await using session = holdSession(user, ["ssh", "-tt", target, "echo sync-begins; cat"]);
  await session.until("sync-begins");
  await cluster.control.kill();
  // What the terminal shows from here on is recorded, and reaches nobody.
  session.type("tick\n");
  expect(await session.ended).toBe(255);
  expect(session.told()).toMatch(
    /sessions on this host must be recorded, and this one cannot be: the auth service has not accepted any of it for 10 s/,
  );
  await using late = holdSession(user, ["ssh", "-tt", target, "echo never"]);
  expect(await late.ended).not.toBe(0);
  expect(late.shown()).toBe("");
}
