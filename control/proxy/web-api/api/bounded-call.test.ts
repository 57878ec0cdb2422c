import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { ListRoom } from "../../../limits/list-room.ts";
import { type BoundServices, boundedCall } from "./bounded-call.ts";

const mib = 1024 * 1024;

function given() {
  const open = new Map<string, (why: PlatformError) => void>();
  const services: BoundServices = {
    lists: new ListRoom(),
    openSockets: {
      add: ({ credential: { id: session } }, end) => {
        open.set(session, end);
        return () => open.delete(session);
      },
    },
  };
  const browser = { user: "ann", credential: { id: "s1" } };
  const callOf = (raw: PassThrough) => ({ browser, reply: { raw }, signal: new AbortController().signal });
  return { open, services, callOf };
}

/** Whether Ann may hold this much more. */
async function hasRoom({ services, callOf }: ReturnType<typeof given>, mebibytes: number): Promise<boolean> {
  const gone = new PassThrough().destroy();
  return await boundedCall(callOf(gone), services, async ({ hold }) => hold(mebibytes * mib)).then(
    () => true,
    () => false,
  );
}

test("a call counts for its session while it runs, and what it holds until the browser has the answer", async () => {
  const world = given();
  const raw = new PassThrough();
  const answer = await boundedCall(world.callOf(raw), world.services, async ({ hold }) => {
    expect([...world.open.keys()]).toEqual(["s1"]);
    hold(48 * mib);
    return "listed";
  });
  expect([answer, world.open.size, await hasRoom(world, 1)]).toEqual(["listed", 0, false]);
  raw.destroy();
  await once(raw, "close");
  expect(await hasRoom(world, 48)).toBe(true);
});

test("nothing stays of a call whose browser has gone, or that fails", async () => {
  const world = given();
  const gone = new PassThrough().destroy();
  await once(gone, "close");
  await boundedCall(world.callOf(gone), world.services, async ({ hold }) => hold(48 * mib));
  expect(await hasRoom(world, 48)).toBe(true);
  const raw = new PassThrough();
  const failing = boundedCall(world.callOf(raw), world.services, async ({ hold }) => {
    hold(48 * mib);
    throw new PlatformError("not_found", "gone");
  });
  await expect(failing).rejects.toMatchObject({ code: "not_found" });
  raw.destroy();
  await once(raw, "close");
  expect([world.open.size, await hasRoom(world, 48)]).toEqual([0, true]);
});

test("a call ends with its session, for that reason", async () => {
  const world = given();
  const raw = new PassThrough();
  const running = boundedCall(world.callOf(raw), world.services, async ({ signal }) => {
    await once(signal, "abort");
    throw new PlatformError("unavailable", "the connection was lost");
  });
  world.open.get("s1")?.(new PlatformError("unauthenticated", "your session in this browser has ended"));
  await expect(running).rejects.toMatchObject({ code: "unauthenticated" });
  raw.destroy();
});
