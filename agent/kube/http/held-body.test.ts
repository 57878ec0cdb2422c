import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { HeldBody } from "./held-body.ts";

function held(body: PassThrough, { limitMs, onHeld = () => {} }: { limitMs?: number; onHeld?: (bytes: number) => void } = {}): HeldBody {
  return new HeldBody(
    { method: "DELETE", target: "/", hosts: [], headers: [], body, trailers: () => [], version: 1 },
    { onContinue: () => {}, onHeld, limitMs },
  );
}

test("a body is read whole, and goes on unchanged", async () => {
  const body = new PassThrough();
  const holder = held(body);
  body.write("a");
  body.end("b");
  expect(String(await holder.read())).toBe("ab");
  const forwarded = holder.forwarded().body ?? expect.fail("no body");
  expect(await text(forwarded)).toBe("ab");
});

test("a body that does not come to its end in time is refused", async () => {
  const body = new PassThrough();
  body.write("a");
  await expect(held(body, { limitMs: 20 }).read()).rejects.toMatchObject({ code: "invalid" });
});

test("a body that is cut, or too large, is refused", async () => {
  const cut = new PassThrough();
  const reading = held(cut).read();
  cut.destroy(new Error("planted"));
  await expect(reading).rejects.toMatchObject({ code: "invalid" });
  const large = new PassThrough();
  large.end(Buffer.alloc(3 * 1024 * 1024 + 1));
  await expect(held(large).read()).rejects.toMatchObject({ code: "invalid" });
});

test("a body for which there is no room is refused at the piece that is too much, and the rest is dropped", async () => {
  const body = new PassThrough();
  const refused = new PlatformError("limit", "planted");
  let room = 3;
  const onHeld = (bytes: number): void => {
    room -= bytes;
    if (room < 0) throw refused;
  };
  body.write("abc");
  const reading = held(body, { onHeld }).read();
  body.write("d");
  await expect(reading).rejects.toBe(refused);
  // The client may go on sending, until it reads its response.
  while (body.write(Buffer.alloc(16_384)));
  await once(body, "drain");
  expect(body.destroyed).toBe(false);
});
