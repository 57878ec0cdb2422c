import { expect, test } from "vitest";
import { z } from "zod";
import { newEventUid } from "./event-uid.ts";

test.for(["2026-01-02T03:04:05.678Z", "1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.000Z", "9999-12-31T23:59:59.999Z"])(
  "at %s it is a UUID of version 7, and no other one",
  (time) => {
    const uids = Array.from({ length: 1_000 }, () => newEventUid(new Date(time)));
    for (const uid of uids) expect(z.uuidv7().safeParse(uid).success).toBe(true);
    expect(new Set(uids).size).toBe(uids.length);
  },
);

test("uids of one time follow those of the time before", () => {
  const uids = Array.from({ length: 100 }, (_, index) => newEventUid(new Date(1_767_323_045_678 + index * 7)));
  expect(uids.toSorted()).toEqual(uids);
});
