import { expect, test } from "vitest";
import { generateSshKey } from "./keys.ts";
import { meet } from "./testing/session-fixture.ts";
import { type ByteCounts, countBytes } from "./watch-traffic.ts";

test("counts the bytes of a session, both ways, and none of another channel", async () => {
  const { client, server } = meet({ authority: generateSshKey() });
  const [near, far] = [await client, (await server).connection];
  const countsOf = countBytes(far);
  const counted: ByteCounts[] = [];
  far.on("session", (accept) => {
    const session = accept();
    counted.push(countsOf(session));
    session.on("exec", (acceptExec) => {
      const channel = acceptExec();
      channel.stderr.write("seen");
      channel.on("data", (chunk: Buffer) => channel.write(Buffer.concat([chunk, chunk])));
      channel.on("end", () => {
        channel.exit(0);
        channel.end();
      });
    });
  });
  const run = (bytes: number) =>
    new Promise<void>((resolve, reject) => {
      near.exec("echo", (error, channel) => {
        if (error) return reject(error);
        channel.on("close", () => resolve()).resume();
        channel.stderr.resume();
        channel.end(Buffer.alloc(bytes));
      });
    });
  await Promise.all([run(100_000), run(7)]);
  await run(1);
  expect(counted.map(({ received, sent }) => [received, sent]).toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
    [1, 6],
    [7, 18],
    [100_000, 200_004],
  ]);
  near.end();
});
