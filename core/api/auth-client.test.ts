import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { openAnsweringAuth } from "../../test/inside/answering-auth.ts";

test("a connection whose server is leaving finishes the calls on it, and further ones go over a new one", async () => {
  using world = await openAnsweringAuth();
  const [first, one] = [world.client.getCluster({}), await world.arrival()];
  const goneAway = once(one.session, "close");
  one.session.close();
  // GOAWAY has arrived once a ping behind it is answered.
  await new Promise<void>((resolve) => one.session.ping(() => resolve()));
  const [second, other] = [world.client.getCluster({}), await world.arrival()];
  other.answer();
  expect((await second).clusterName).toBe("test");
  one.answer();
  expect((await first).clusterName).toBe("test");
  await goneAway;
  expect(world.opened()).toBe(2);
});

test("a call that GOAWAY has crossed was not begun, and is made once more", async () => {
  using world = await openAnsweringAuth();
  const [warm, zeroth] = [world.client.getCluster({}), await world.arrival()];
  zeroth.answer();
  await warm;
  const [crossed, one] = [world.client.getCluster({}), await world.arrival()];
  // It names the first call alone.
  one.session.goaway(0, 1);
  const again = await world.arrival();
  again.answer();
  expect((await crossed).clusterName).toBe("test");
  expect([again.session === one.session, world.opened()]).toEqual([false, 2]);
});

test("renewed credentials are for further calls: those under way end on the connection that they are on", async () => {
  using world = await openAnsweringAuth();
  const [first, one] = [world.client.getCluster({}), await world.arrival()];
  const over = once(one.session, "close");
  world.renew();
  const [second, other] = [world.client.getCluster({}), await world.arrival()];
  expect(other.session).not.toBe(one.session);
  one.answer();
  other.answer();
  expect([(await first).clusterName, (await second).clusterName]).toEqual(["test", "test"]);
  await over;
  expect(other.session.closed).toBe(false);
});

test("a connection that is being opened while the credentials are renewed is not used: its calls go over one with the newer ones", async () => {
  using world = await openAnsweringAuth();
  const [call, arrival] = [world.client.getCluster({}), world.arrival()];
  // It has begun to shake hands.
  while (world.opened() === 0) await nextTurn();
  world.renew();
  (await arrival).answer();
  expect([(await call).clusterName, world.opened()]).toEqual(["test", 2]);
});

test("a service that has vanished without a word is given up, and the next call finds another one", async () => {
  using world = await openAnsweringAuth();
  const [first, one] = [world.client.getCluster({}), await world.arrival()];
  world.vanish();
  one.answer();
  await expect(first).rejects.toMatchObject({ code: "timeout", message: expect.stringContaining("the auth service does not answer") });
  const [second, other] = [world.client.getCluster({}), await world.arrival()];
  other.answer();
  expect([(await second).clusterName, world.opened()]).toEqual(["test", 2]);
});

test("a service that takes long for an answer, but is there, is waited for", async () => {
  using world = await openAnsweringAuth();
  const [first, one] = [world.client.getCluster({}), await world.arrival()];
  let pings = 0;
  await new Promise<void>((resolve) => {
    one.session.on("ping", () => {
      pings += 1;
      if (pings === 3) resolve();
    });
  });
  one.answer();
  expect([(await first).clusterName, world.opened()]).toEqual(["test", 1]);
});
