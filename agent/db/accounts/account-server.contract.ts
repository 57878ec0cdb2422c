import { expect, test } from "vitest";
import type { AccountServer } from "./account-server.ts";

/** Two agents at one server, which has the roles `readers` and `writers` and no accounts of users. */
export interface TwoAgents {
  readonly one: AccountServer;
  readonly other: AccountServer;
  /** Accounts that sessions are logged in with. */
  readonly connected: string[];
  /** Whether the account may log in. */
  isOpen(name: string): boolean;
}

const readers = { name: "alice", roles: ["readers"] };
const writers = { name: "alice", roles: ["writers"] };

/** What holds for the accounts of every kind of server. `agents`: new ones for each test. */
export function accountServerContract(agents: () => TwoAgents): void {
  test.for(["keep", "best_effort_drop"] as const)(
    "two agents, one of which lets go with %s: the last one disables it; roles do not change under a session",
    async (mode) => {
      const { one, other, connected, isOpen } = agents();
      await one.activate(readers);
      expect(await other.activate(readers)).toBe("ready");
      expect(await other.activate(writers)).toBe("busy");
      expect(await one.deactivate("alice", mode)).toBe("used");
      expect(isOpen("alice")).toBe(true);
      connected.push("alice");
      expect(await other.deactivate("alice", "keep")).toBe("busy");
      expect(await one.activate(writers)).toBe("busy");
      connected.pop();
      expect(await other.deactivate("alice", "keep")).toBe("disabled");
      expect(isOpen("alice")).toBe(false);
    },
  );

  test("the account of an agent that was killed is found by another one; one in use is not", async () => {
    const { one, other, isOpen } = agents();
    await one.activate(readers);
    await other.activate({ name: "bob", roles: [] });
    one.close();
    expect(await other.sweep()).toEqual(["alice"]);
    expect([isOpen("alice"), isOpen("bob")]).toEqual([false, true]);
    expect(await other.sweep()).toEqual([]);
  });
}
