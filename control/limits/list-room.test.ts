import fc from "fast-check";
import { expect, test } from "vitest";
import { ListRoom, transferLimits } from "./list-room.ts";

const mib = 1024 * 1024;

test("a user's lists hold a part of the room, also beside those of others, and have it again once they are released", () => {
  const room = new ListRoom();
  const [first, second, other] = [room.open("ann"), room.open("ann"), room.open("bob")];
  first.hold(30 * mib);
  second.hold(18 * mib);
  expect(() => second.hold(1)).toThrow(/^your lists that are being loaded hold 48 MiB at this proxy, the most for one user$/);
  other.hold(48 * mib);
  first.release();
  first.release();
  second.hold(30 * mib);
  expect(() => second.hold(1)).toThrow(/the most for one user/);
});

test("a room for something else has its own limits and words", () => {
  const room = new ListRoom(transferLimits, "uploads and downloads");
  room.open("ann").hold(24 * mib);
  expect(() => room.open("ann").hold(1)).toThrow(/^your uploads and downloads hold 24 MiB at this proxy, the most for one user$/);
});

test("lists of all users hold no more than the room", () => {
  const room = new ListRoom();
  const lists = ["ann", "bob", "cid", "dan"].map((user) => room.open(user));
  for (const list of lists) list.hold(48 * mib);
  const last = room.open("eve");
  expect(() => last.hold(1)).toThrow(
    expect.objectContaining({ code: "limit", message: expect.stringMatching(/hold 192 MiB, the most for all users$/) }),
  );
  lists[0]?.release();
  last.hold(48 * mib);
});

test("whatever users do, no more is held than is counted, and nothing is left at the end", () => {
  const step = fc.record({ user: fc.nat(5), mebibytes: fc.nat(20), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const room = new ListRoom();
      const lists = Array.from({ length: 6 }, (_, user) => ({ list: room.open(`u${user}`), held: 0 }));
      for (const { user, mebibytes, ends } of steps) {
        const one = lists[user] ?? expect.fail();
        const all = lists.reduce((sum, { held }) => sum + held, 0);
        const fits = one.held + mebibytes <= 48 && all + mebibytes <= 192;
        if (fits) one.list.hold(mebibytes * mib);
        else expect(() => one.list.hold(mebibytes * mib)).toThrow(/hold/);
        one.held += fits ? mebibytes : 0;
        if (!ends) continue;
        one.list.release();
        one.held = 0;
      }
      for (const { list } of lists) list.release();
      for (let user = 0; user < 4; user += 1) room.open(`last${user}`).hold(48 * mib);
    }),
  );
});
