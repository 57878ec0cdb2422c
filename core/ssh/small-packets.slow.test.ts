import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { channelWindow } from "./channel-window.ts";
import { generateSshKey } from "./keys.ts";
import { openChannel } from "./testing/session-fixture.ts";

test.for(["stdout", "stderr"] as const)(
  "packets of one byte that nobody reads are few pieces of %s, and the window goes on afterwards",
  async (name) => {
    const { client, near, far } = await openChannel({ authority: generateSshKey() });
    const [reader, writer]: [Readable, Writable] = name === "stdout" ? [near, far] : [near.stderr, far.stderr];
    (name === "stdout" ? near.stderr : near).resume();
    const small = 20_000;
    for (let count = 0; count < small; count += 1) await new Promise((sent) => writer.write(Buffer.of(46), sent));
    let [pieces, bytes] = [0, 0];
    reader.on("data", (piece: Buffer) => {
      pieces += 1;
      bytes += piece.length;
    });
    await new Promise((sent) => writer.write(Buffer.alloc(channelWindow), sent));
    const ended = once(near, "close");
    far.end();
    await ended;
    expect(bytes).toBe(small + channelWindow);
    // 16,384 as they came, one gathered, and packets of 32 KiB.
    expect(pieces).toBeLessThan(16_384 + 400);
    client.end();
  },
);
