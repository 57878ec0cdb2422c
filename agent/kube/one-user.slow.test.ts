import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants, type Http2ServerResponse } from "node:http2";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../test/world/until.ts";
import { ApiWorld, kubeRole } from "./testing/api-world.ts";
import { UserRequests } from "./user-requests.ts";

/* What one user may have held at an agent, as the user sees it: the refusal is in words, and the connection goes on. */

let world: ApiWorld;
beforeAll(async () => {
  world = await ApiWorld.open();
});
afterAll(async () => await world[Symbol.asyncDispose]());

/** Responses of the API server that the test gives. */
let waiting: Http2ServerResponse[];
let arrived: PromiseWithResolvers<void>;
beforeEach(() => {
  waiting = [];
  arrived = Promise.withResolvers();
  world.onRequest = (_request, response) => {
    waiting.push(response);
    arrived.resolve();
  };
});

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

/** Over HTTP/2, so that one connection has several at a time. */
async function ask(client: ClientHttp2Session, { method, path, body }: Asked): Promise<{ readonly status: number; readonly body: string }> {
  const stream = client.request({ ":method": method, ":path": path }, { endStream: body === undefined });
  stream.on("error", () => {});
  if (body !== undefined) stream.end(body);
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  return { status: Number(headers[constants.HTTP2_HEADER_STATUS]), body: await text(stream) };
}

function over(tls: TLSSocket): ClientHttp2Session {
  return connectHttp2("https://kube.test", { createConnection: () => tls }).on("error", () => {});
}

const review = { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" };
const reviewOf = (length: number): string => JSON.stringify({ spec: {}, padding: "x".repeat(length) });

describe("bodies that are read for a decision", () => {
  const requests = () => new UserRequests({}, { ofUser: 100_000 });

  test("are held within a bound of their user, until their requests end", async () => {
    const { tls } = await world.enter({ deps: { requests: requests() } });
    const client = over(tls);
    const first = ask(client, { ...review, body: reviewOf(60_000) });
    await arrived.promise;
    expect(await ask(client, { ...review, body: reviewOf(60_000) })).toEqual({ status: 429, body: expect.stringContaining("of alice's requests") });
    expect(waiting).toHaveLength(1);
    waiting[0]?.end("{}");
    expect((await first).status).toBe(200);
    world.onRequest = (_request, response) => void response.end("{}");
    expect((await ask(client, { ...review, body: reviewOf(60_000) })).status).toBe(200);
  });

  test("and a client of HTTP/1.1 gets the refusal while it sends", async () => {
    const { tls } = await world.enter({ deps: { requests: requests() } });
    const sent = request({ createConnection: () => tls, host: "kube.test", ...review });
    sent.on("error", () => {}).end(reviewOf(2_000_000));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect([response.statusCode, await text(response)]).toEqual([429, expect.stringContaining("of alice's requests")]);
    expect(waiting).toEqual([]);
  });
});

test.each([
  ["deletions of several objects", "DELETE", "deletecollection"],
  ["filtered requests", "GET", "list"],
] as const)("%s are bounded for one user", async (what, method, verb) => {
  const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: [verb] }]);
  const { tls } = await world.enter({ access: { roles: [role] }, deps: { requests: new UserRequests({ [what]: 1 }) } });
  const client = over(tls);
  const asked = { method, path: "/api/v1/namespaces/a/pods" };
  const first = ask(client, asked);
  await arrived.promise;
  expect(await ask(client, asked)).toEqual({ status: 429, body: expect.stringContaining(`alice already has 1 ${what}`) });
  waiting[0]?.setHeader("content-type", "application/json");
  waiting[0]?.end(JSON.stringify({ kind: "PodList", metadata: {}, items: [] }));
  expect((await first).status).toBe(200);
});

const list = "/api/v1/namespaces/a/pods";
const watch = `${list}?watch=true`;
const follow = `${list}/web-1/log?follow=true`;
test.each([
  ["watches", 70, watch, list, "usual"],
  ["watches", 70, watch, `${list}/web-1/log`, "usual"],
  ["watches", 70, watch, watch, "small"],
  ["watches", 70, watch, follow, "small"],
  ["logs that are followed", 70, follow, watch, "small"],
  ["lists", 70, list, list, "usual"],
  ["lists", 260, list, list, "small"],
  ["lists", 260, list, watch, "usual"],
] as const)("with %s, %i at a time, the windows of further requests: %s, then %s: %s", async (_what, count, first, next, size) => {
  const sizes: number[] = [];
  const all = Promise.withResolvers<void>();
  const last = Promise.withResolvers<void>();
  world.onRequest = ({ stream }) => {
    const length = sizes.push(stream.session?.remoteSettings.initialWindowSize ?? 0);
    if (length === count) all.resolve();
    if (length === count + 1) last.resolve();
  };
  const service = await world.service();
  const clients = await Promise.all(Array.from({ length: 3 }, async () => over((await world.enter({}, service)).tls)));
  const send = (at: number, path: string): unknown => clients[at % clients.length]?.request({ ":path": path }).on("error", () => {});
  for (let at = 0; at < count; at += 1) send(at, first);
  await all.promise;
  send(count, next);
  await last.promise;
  expect(sizes.at(-1)).toBe({ usual: 262_144, small: 16_384 }[size]);
  for (const client of clients) client.destroy();
});

test("responses that their client does not read are held in part, of a user's many watches in small part", async () => {
  const ends: Duplex[] = [];
  const sizes: number[] = [];
  const piece = Buffer.alloc(16_384);
  world.onRequest = ({ stream }, response) => {
    sizes.push(stream.session?.remoteSettings.initialWindowSize ?? 0);
    if (stream.session !== undefined && !ends.includes(stream.session.socket)) ends.push(stream.session.socket);
    const more = (): void => {
      while (!response.writableEnded && response.write(piece));
    };
    response.stream.on("error", () => {});
    response.on("drain", more);
    more();
  };
  const service = await world.service();
  const clients = await Promise.all(Array.from({ length: 6 }, async () => over((await world.enter({}, service)).tls)));
  for (const client of clients) for (let count = 0; count < 100; count += 1) client.request({ ":path": watch }).on("error", () => {});
  await until("all have come", () => sizes.length === 600);
  const sent = (): number => ends.reduce((sum, end) => sum + (end instanceof TLSSocket ? end.bytesWritten : 0), 0);
  let [before, same] = [0, 0];
  await until("all wait", () => {
    same = sent() === before ? same + 1 : 0;
    before = sent();
    return same > 20;
  });
  expect(sizes.filter((size) => size === 262_144).length).toBeLessThanOrEqual(64);
  // 64 with 256 KiB in their windows and 128 in their streams; 536 with 16 and some 32.
  expect(Math.round(sent() / 1024 / 1024)).toBeLessThan(55);
  for (const client of clients) client.destroy();
});

test("requests to an API server with few connections are bounded for one user", async () => {
  const service = await world.service({ deps: { requests: new UserRequests({ "requests over HTTP/1.1": 1 }) } });
  const { api } = service.cluster;
  const few = { ...service.cluster, api: { ...{ facts: api.facts, prefersHttp1: true }, send: api.send.bind(api), upgrade: api.upgrade.bind(api) } };
  const { tls } = await world.enter({}, { ...service, deps: { ...service.deps, findCluster: () => few } });
  const client = over(tls);
  const asked = { method: "GET", path: "/api/v1/namespaces/a/pods?watch=1" };
  const first = ask(client, asked);
  await arrived.promise;
  expect(await ask(client, asked)).toEqual({ status: 429, body: expect.stringContaining("alice already has 1 requests over HTTP/1.1") });
  waiting[0]?.end();
  expect((await first).status).toBe(200);
});
