import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, WebWorld, webDumper } from "./testing/web-world.ts";

let world: WebWorld;
beforeAll(async () => {
  world = await WebWorld.open();
});
afterAll(async () => await world[Symbol.asyncDispose]());

test("the dumper shows the request that an application would have got, without the token's signature", async () => {
  const { tls } = await world.enter({ app: webDumper() });
  const { status, body } = await ask(tls, {
    method: "POST",
    path: "/a?b=c",
    headers: { host: "dump.test", cookie: "a=1; __Host-platform_app=x", "x-mine": "1" },
    body: "ignored",
  });
  const shown = JSON.parse(body);
  expect(status).toBe(200);
  expect(shown).toMatchObject({ method: "POST", path: "/a?b=c", assertion: { header: { alg: "ES256" }, claims: { sub: "alice" } } });
  expect(shown.headers).toContainEqual({ name: "x-mine", value: "1" });
  expect(shown.headers).toContainEqual({ name: "Cookie", value: "a=1" });
  expect(body).not.toContain("c2lnbmF0dXJl");
});

test("the dumper sends events", async () => {
  const { tls } = await world.enter({ app: webDumper() });
  const sent = request({ createConnection: () => tls, path: "/events", headers: { host: "dump.test" } }).on("error", () => {});
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.on("error", () => {});
  expect(response.headers["content-type"]).toBe("text/event-stream");
  expect(String((await once(response, "data"))[0])).toMatch(/^id: 1\ndata: \d{4}-/);
});
