import { describe, expect, test } from "vitest";
import { decideUpdate } from "../update/decide-update.ts";
import { calmFacts, image } from "./update-facts.ts";

/** Facts that differ from the calm ones, and a part of the decision. */
export type UpdateRow = readonly [name: string, facts: Parameters<typeof calmFacts>[0], expected: object];

/** A test for each row. */
export function updateTable(title: string, rows: readonly UpdateRow[]): void {
  describe(title, () => {
    test.for(rows)("%s", ([, facts, expected]) => {
      expect(decideUpdate(calmFacts(facts))).toMatchObject(expected);
    });
  });
}

/** The decision to change nothing; `detail` is a part of its text. */
export function stays(reason: string, detail?: string): object {
  return { act: "stay", reason, ...(detail !== undefined && { detail: expect.stringContaining(detail) }) };
}

/** A schedule whose window is still to come. */
export const closed = { windows: [{ start: 5000, stop: 6000 }], unreadable: 0 };
/** The update that the calm facts ask for begins. */
export const update = { act: "update", update: { phase: "rolling", to: { version: "1.1.0", image: image("1.1.0") }, before: "ready" } };
