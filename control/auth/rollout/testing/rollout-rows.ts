import { expect, test } from "vitest";
import type { RolloutState } from "../rollout-state.ts";
import { type Case, play } from "./play-rollout.ts";

/** What is given, the state that follows, the hosts that may take the version then, and the events. */
type Row = readonly [why: string, given: Case, then: Partial<RolloutState>, may: string, events?: string];

/** Plays each row. */
export function testRows(rows: readonly Row[], { atLeast }: { readonly atLeast: number }): void {
  test.for(rows)("%s", ([_why, given, then, may, events = ""]) => {
    const step = play(given);
    expect({ may: step.may, events: step.events.map(({ event }) => event).join(" ") }).toEqual({ may, events });
    expect(step.state).toMatchObject(then);
  });

  test("there are enough rows", () => expect(rows.length).toBeGreaterThanOrEqual(atLeast));
}
