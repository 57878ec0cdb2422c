import { afterEach, expect, test, vi } from "vitest";
import { codeAttempt } from "./send-code.ts";

const thing = { type: "terminal", node: "web-1", login: "root" } as const;

afterEach(() => vi.unstubAllGlobals());

test("a code confirms what the page opens", async () => {
  vi.stubGlobal("fetch", async () => await Promise.resolve(Response.json({ confirmation: "c1" })));
  const confirmed: string[] = [];
  await codeAttempt(thing, (confirmation) => confirmed.push(confirmation)).send("123456");
  expect(confirmed).toEqual(["c1"]);
});

test("a dialog that is left while the code is on its way opens nothing when the answer comes", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  vi.stubGlobal("fetch", async () => await promise);
  const confirmed: string[] = [];
  const attempt = codeAttempt(thing, (confirmation) => confirmed.push(confirmation));
  const sent = attempt.send("123456");
  attempt.leave();
  resolve(Response.json({ confirmation: "c1" }));
  await sent;
  expect(confirmed).toEqual([]);
});
