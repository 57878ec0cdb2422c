import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { generateSshKey } from "./keys.ts";
import { rawConnection } from "./ssh2.ts";
import { openChannel } from "./testing/session-fixture.ts";

test("both ends keep only the session's id and the negotiated algorithms after each key exchange", async () => {
  const { client, server } = await openChannel({ authority: generateSshKey() });
  const { sessionID } = rawConnection(client)._protocol._kex;
  const check = (): void => {
    for (const end of [client, server]) {
      const kept = rawConnection(end)._protocol._kex;
      expect(Object.keys(kept).sort()).toEqual(["negotiated", "sessionID"]);
      expect(kept.sessionID).toEqual(sessionID);
    }
  };
  check();
  const again = Promise.all([once(client, "handshake"), once(server, "handshake")]);
  rawConnection(client)._protocol.rekey();
  await again;
  await setImmediate();
  check();
  client.end();
});

test("connections that negotiated the same share it", async () => {
  const negotiated = async (): Promise<object> => {
    const { client, server } = await openChannel({ authority: generateSshKey() });
    client.end();
    return rawConnection(server)._protocol._kex.negotiated;
  };
  expect(await negotiated()).toBe(await negotiated());
});
