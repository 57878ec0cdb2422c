import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { generateSshKey } from "../../core/ssh/keys.ts";
import { channelEnds } from "../../core/ssh/ssh2/hooks.ts";
import { openChannel } from "../../core/ssh/testing/session-fixture.ts";
import { Seat } from "./seat.ts";

async function seated() {
  const { client, near, far } = await openChannel({ authority: generateSshKey() });
  return { client, near, far, seat: new Seat({ user: "bob", mode: "observer", stream: far }) };
}

test("a participant that is behind has the rest waiting in one piece, however small the pieces are, and is disconnected at a megabyte", async () => {
  const { client, far, seat } = await seated();
  channelEnds(far).outgoing.window = 0;
  const write = vi.spyOn(far, "write");
  for (let count = 0; count < 1_000_000; count += 1) seat.show(Buffer.of(46));
  expect([write.mock.calls.length, seat.reason]).toEqual([1, undefined]);
  for (let count = 0; count < 50_000; count += 1) seat.show(Buffer.of(46));
  expect([write.mock.calls.length, seat.reason]).toEqual([1, expect.stringContaining("too slow")]);
  client.end();
});

test("the end of a session reaches a participant after all of its output", async () => {
  const { client, near, far, seat } = await seated();
  near.stderr.resume();
  far.cork();
  for (const word of ["one ", "two ", "three"]) seat.show(Buffer.from(word));
  seat.finish("the session has ended");
  far.uncork();
  expect(await text(near)).toBe("one two three");
  client.end();
});
