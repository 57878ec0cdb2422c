import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { sessionIdOf } from "./session.ts";

test("the first session has the connection's id, each later one its own UUID, the same wherever it is computed", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.integer({ min: 2, max: 40 }), (connection, count) => {
      const ids = Array.from({ length: count }, (_, place) => sessionIdOf(connection, place));
      expect(ids[0]).toBe(connection);
      expect(new Set(ids).size).toBe(count);
      for (const id of ids) expect(z.uuid().safeParse(id).success).toBe(true);
    }),
  );
  expect(sessionIdOf("7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11", 1)).toBe(sessionIdOf("7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11", 1));
});
