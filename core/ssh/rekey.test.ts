import { once } from "node:events";
import { expect, test } from "vitest";
import { generateSshKey } from "./keys.ts";
import { openChannel } from "./testing/session-fixture.ts";

test.for(["client", "server"] as const)("keys are renewed by the %s whenever they expire", async (side) => {
  const opened = await openChannel({ authority: generateSshKey(), [side]: { rekey: { bytes: 1024 ** 3, ms: 60 } } });
  await once(opened.server, "rekey");
  await once(opened.server, "rekey");
  opened.near.write("still here");
  const [data] = (await once(opened.far, "data")) as [Buffer];
  expect(data.toString()).toBe("still here");
  opened.client.end();
});
