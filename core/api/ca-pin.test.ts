import { expect, test } from "vitest";
import { createTestAuthority } from "../transport/dial/testing/test-certificate.ts";
import { caPin, otherCluster } from "./ca-pin.ts";

test("pins that match none of a host's authorities mean another cluster or a rotation; no pins mean nothing", async () => {
  const [first, second, foreign] = await Promise.all([createTestAuthority(), createTestAuthority(), createTestAuthority()]);
  const held = { hostId: "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77", cluster: "a", hostCaPem: [first.cert, second.cert] };
  expect(otherCluster(held, [])).toBeUndefined();
  expect(otherCluster(held, [caPin(foreign.cert), caPin(second.cert)])).toBeUndefined();
  expect(otherCluster(held, [caPin(foreign.cert)])).toMatchObject({
    message: `this host belongs to cluster "a" (host ${held.hostId}), and platform.ca_pin belongs to another authority`,
    hint: expect.stringContaining("platform leave"),
  });
});
