import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { tlsPair } from "../../test/inside/tls-pair.ts";
import { type ClientAnswer, sendWhole } from "./exchange.ts";
import { type HttpHandlers, usualLimits } from "./http-handlers.ts";
import { serveHttp2 } from "./serve-http2.ts";

const handlers: HttpHandlers = {
  exchange: async (_asked, answer) => sendWhole(answer, { head: { status: 200, message: "", headers: [] }, body: Buffer.from("served") }),
  upgrade: async () => {},
  refusal: (status) => ({ head: { status, message: "", headers: [] }, body: Buffer.alloc(0) }),
};

/** A stream whose writes wait while it is held. */
function gated(below: Duplex) {
  let isHeld = false;
  const waiting: (() => void)[] = [];
  const stream = new Duplex({
    read: () => void below.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      const pass = (): void => void below.write(chunk, () => done());
      if (isHeld) waiting.push(pass);
      else pass();
    },
    destroy: (error, done) => {
      below.destroy();
      done(error);
    },
  });
  below.on("data", (chunk: Buffer) => {
    if (!stream.push(chunk)) below.pause();
  });
  below.once("close", () => stream.destroy());
  const hold = (): void => {
    isHeld = true;
  };
  const release = (): void => {
    isHeld = false;
    for (const pass of waiting.splice(0)) pass();
  };
  return { stream, hold, release, waiting };
}

/** TLS between a server, whose writes can be held, and a client. */
async function held() {
  const below = Promise.withResolvers<ReturnType<typeof gated>>();
  const pair = await tlsPair("h2", (socket) => {
    const gate = gated(socket);
    below.resolve(gate);
    return gate.stream;
  });
  return { ...pair, ...(await below.promise) };
}

// Node ends the process when HTTP/2 writes on a TLS stream of which a write is under way (TLSWrap::DoWrite, !current_write_).
test("HTTP/2 begins when what was written before is out", async () => {
  const { client, server, hold, release, waiting } = await held();
  hold();
  server.write("reply");
  while (waiting.length === 0) await turn();
  const serving = serveHttp2(server, handlers);
  for (let turns = 0; turns < 20; turns += 1) await turn();
  const reply = once(client, "data");
  release();
  const [first] = (await reply) as [Buffer];
  // What follows the reply may have come with it: the settings of HTTP/2.
  expect(first.subarray(0, 5).toString()).toBe("reply");
  if (first.length > 5) client.unshift(first.subarray(5));
  const session = connectHttp2("https://kube.test", { createConnection: () => client });
  session.on("error", () => {});
  expect(await text(session.request({ ":path": "/" }).end())).toBe("served");
  client.destroy();
  await serving;
});

test("a client that never reads what was written before ends the wait", async () => {
  const { server, hold, waiting } = await held();
  hold();
  server.write("reply");
  while (waiting.length === 0) await turn();
  await serveHttp2(server, handlers, { ...usualLimits, firstMs: 30 });
  expect(server.destroyed).toBe(true);
});

test("a client that leaves before ends the wait", async () => {
  const { client, server, hold, waiting } = await held();
  hold();
  server.write("reply");
  while (waiting.length === 0) await turn();
  const serving = serveHttp2(server, handlers);
  client.destroy();
  await serving;
  expect(server.destroyed).toBe(true);
});

test("a client that does not read gets no more interim responses than wait for it", async () => {
  const { client, server, hold, release } = await held();
  const asked: ClientAnswer[] = [];
  const all = Promise.withResolvers<void>();
  const exchange = async (_asked: unknown, answer: ClientAnswer): Promise<void> => {
    if (asked.push(answer) === 60) all.resolve();
  };
  const serving = serveHttp2(server, { ...handlers, exchange });
  const session = connectHttp2("https://kube.test", { createConnection: () => client });
  session.on("error", () => {});
  let hints = 0;
  const onHint = (): void => {
    hints += 1;
  };
  const streams = Array.from({ length: 60 }, () => session.request({ ":path": "/" }).on("headers", onHint));
  await all.promise;
  const informAll = (): void => {
    for (const answer of asked) answer.inform(103, [["link", "</a>"]]);
  };
  hold();
  // The first takes the one write that is under way.
  informAll();
  for (let turns = 0; turns < 20; turns += 1) await turn();
  for (let times = 0; times < 7; times += 1) informAll();
  for (const answer of asked) sendWhole(answer, { head: { status: 200, message: "", headers: [] }, body: Buffer.alloc(0) });
  const answered = streams.map(async (stream) => await once(stream, "response"));
  release();
  await Promise.all(answered);
  expect(hints).toBeGreaterThan(0);
  expect(hints).toBeLessThanOrEqual(64);
  client.destroy();
  await serving;
});

/** A stream of a tunnel: the end of one direction leaves the other one open. */
function halfOpen(below: Duplex): Duplex {
  below.allowHalfOpen = true;
  const stream = new Duplex({
    read: () => void below.resume(),
    write: (chunk: Buffer, _encoding, done) => void below.write(chunk, () => done()),
    final: (done) => void below.end(() => done()),
    destroy: (error, done) => {
      below.destroy();
      done(error);
    },
  });
  below.on("data", (chunk: Buffer) => {
    if (!stream.push(chunk)) below.pause();
  });
  below.once("end", () => stream.push(null)).once("close", () => stream.destroy());
  return stream;
}

test("it ends with its client, which need not say so in HTTP/2", async () => {
  const { server, client } = await tlsPair("h2", halfOpen);
  const served = serveHttp2(server, handlers);
  const session = connectHttp2("https://kube.test", { createConnection: () => client });
  session.on("error", () => {});
  expect(await text(session.request({ ":path": "/" }).end())).toBe("served");
  // As of a process that has ended.
  client.end();
  await served;
  expect(server.destroyed).toBe(true);
});
