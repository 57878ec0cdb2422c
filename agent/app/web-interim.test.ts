import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebUpstream } from "./testing/web-upstream.ts";
import { ask, textOf, WebWorld } from "./testing/web-world.ts";

/** Node throws for an interim response with fields that it does not send, in a place where nobody would catch it. */
describe("interim responses of a web application", () => {
  let world: WebWorld;
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const hinting = async (fields: readonly string[]) => {
    const upstream = await WebUpstream.open((_request, response) => {
      response.socket?.write(`HTTP/1.1 103 Early Hints\r\n${fields.join("\r\n")}\r\n\r\n`);
      response.end("body");
    });
    const { tls } = await world.enter({ spec: { uri: upstream.uri } });
    return { upstream, tls };
  };

  test.for([
    [["Link: </a.css>; rel=preload; as=style"], 1],
    // What Node does not send is left out.
    [["Link: </a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script"], 0],
    [["Link: nonsense"], 0],
    [["X-Other: 1"], 0],
  ] as const)("%j reaches a client of HTTP/1.1 %i times, and the response does in any case", async ([fields, times]) => {
    const { upstream, tls } = await hinting(fields);
    await using _ = upstream;
    let received = "";
    tls.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    const { status, body } = await ask(tls, { path: "/", headers: { host: "web.test" } });
    expect([status, body]).toEqual([200, "body"]);
    expect(received.split("HTTP/1.1 103")).toHaveLength(1 + times);
  });

  test.for([
    [["Link: </a.css>; rel=preload", "Connection: keep-alive, x-own", "X-Own: 1"], { link: "</a.css>; rel=preload" }],
    [["X-Other: 1", "Upgrade: h2c", "Transfer-Encoding: chunked"], { "x-other": "1" }],
  ] as const)("%j reaches a client of HTTP/2 without what concerns a connection", async ([fields, passed]) => {
    const { upstream, tls } = await hinting(fields);
    await using _ = upstream;
    const session = connect("http://web.test", { createConnection: () => tls });
    session.on("error", () => {});
    const stream = session.request({ ":path": "/", ":authority": "web.test" });
    const hinted = once(stream, "headers");
    const answered = once(stream, "response");
    expect((await hinted)[0]).toMatchObject({ ":status": 103, ...passed });
    expect((await hinted)[0]).not.toHaveProperty("x-own");
    expect((await answered)[0]).toMatchObject({ ":status": 200 });
    expect(await textOf(stream)).toBe("body");
    session.destroy();
  });
});
