import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { roleSchema } from "../../core/resources/role.ts";
import { until } from "../../test/world/until.ts";
import { WebUpstream } from "./testing/web-upstream.ts";
import { WebWorld } from "./testing/web-world.ts";

let world: WebWorld;
beforeAll(async () => {
  world = await WebWorld.open();
});
afterAll(async () => await world[Symbol.asyncDispose]());

test("a role's limit of idleness ends a connection, and an event stream with events is not idle", async () => {
  await using upstream = await WebUpstream.open((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    let left = 8;
    const send = (): void => {
      response.write("data: x\n\n");
      left -= 1;
      if (left > 0) setTimeout(send, 200);
    };
    send();
  });
  const options = { client_idle_timeout: "1s" };
  const role = roleSchema.parse({
    kind: "role",
    version: "v7",
    metadata: { name: "access" },
    spec: { options, allow: { app_labels: { "*": "*" } } },
  });
  const { tls, events } = await world.enter({ spec: { uri: upstream.uri }, access: { roles: [role] } });
  let text = "";
  tls.on("data", (chunk: Buffer) => {
    text += String(chunk);
  });
  tls.write("GET /events HTTP/1.1\r\nHost: web.test\r\n\r\n");
  await once(tls, "close");
  expect(text.match(/data: x/g)).toHaveLength(8);
  await until("the session has ended", () => events.some(({ event }) => event === "app.session.end"));
  expect(events.at(-1)).toMatchObject({ event: "app.session.end", reason: expect.stringMatching(/no activity/) });
});
