import { once } from "node:events";
import { expect, test } from "vitest";
import { generateSshKey } from "./keys.ts";
import { openChannel } from "./testing/session-fixture.ts";
import { withoutStderr } from "./without-stderr.ts";

test("a channel without standard error carries data both ways and closes", async () => {
  const { client, near, far } = await openChannel({ authority: generateSshKey() });
  const before = far.stderr;
  withoutStderr(far);
  expect(far.stderr).not.toBe(before);
  far.write("from afar");
  near.write("from near");
  const [[heardNear], [heardFar]] = await Promise.all([once(near, "data"), once(far, "data")]);
  expect([String(heardNear), String(heardFar)]).toEqual(["from afar", "from near"]);
  far.resume();
  near.resume();
  const closed = Promise.all([once(near, "close"), once(far, "close")]);
  near.end();
  far.end();
  await closed;
  client.end();
});
