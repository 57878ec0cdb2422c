import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { until } from "../../../test/world/until.ts";
import { WebUpstream } from "../testing/web-upstream.ts";
import { ask, askRaw, sid, WebWorld } from "../testing/web-world.ts";
import { AppSessions } from "./app-sessions.ts";

const named = (events: readonly AuditFacts[], name: AuditFacts["event"]) => events.filter(({ event }) => event === name);
const certified = { roles: [], traits: {} };

describe("the audit of a web application", () => {
  let world: WebWorld;
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const recorded = { access: { sessionRecording: "node" } } as const;

  test("has one start, one recording and one end for all connections of a session, and requests without secrets", async () => {
    await using upstream = await WebUpstream.open();
    const service = await world.service({ ...recorded, spec: { uri: upstream.uri, public_addr: "web.example.com" } });
    const first = await world.enter({ traits: { teams: ["a"] } }, service);
    const second = await world.enter({}, service);
    await ask(first.tls, { path: "/a?token=hidden&q=seen&api%5Fkey=hidden2", headers: { host: "web.test" } });
    await ask(second.tls, { method: "DELETE", path: "/b", headers: { host: "web.test" } });
    first.tls.destroy();
    second.tls.destroy();
    await Promise.all([first.served, second.served]);
    await until("the session has ended", () => named(service.events, "app.session.end").length === 1);
    const common = { user: "alice", sid, app_name: "web", app_uri: upstream.uri, app_public_addr: "web.example.com" };
    expect(named(service.events, "app.session.start")).toMatchObject([{ ...common, roles: ["access"], traits: { teams: ["a"] } }]);
    const chunks = named(service.events, "app.session.chunk");
    expect(chunks).toMatchObject([{ ...common, session_chunk_id: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
    expect(named(service.events, "app.session.end")).toMatchObject([{ ...common, bytes_received: expect.any(Number) }]);
    const [file = ""] = await readdir(service.folder);
    expect(file).toMatch(/\.ended\.requests\.gz$/);
    const lines = gunzipSync(await readFile(join(service.folder, file)))
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { version: 1, app: "web", session: sid, platform: { kind: "app", resource: "web", format: "requests", user: "alice" } },
      { event: "app.session.request", code: "T2009I", method: "GET", path: "/a", raw_query: "token=***&q=seen&api%5Fkey=***", status_code: 200 },
      { method: "DELETE", path: "/b", raw_query: "", status_code: 200 },
    ]);
  });

  test("has another recording after some minutes, and another session for another user's connection with the same id", async () => {
    await using upstream = await WebUpstream.open();
    const service = await world.service({ ...recorded, spec: { uri: upstream.uri } });
    const sessions = new AppSessions(service.deps, new AbortController().signal, { times: { lingerMs: 60_000, chunkMs: 0 } });
    for (const path of ["/1", "/2"]) {
      const { tls } = await world.enter({}, { ...service, deps: { ...service.deps, sessions } });
      await ask(tls, { path, headers: { host: "web.test" } });
    }
    // A recording for each request, as no time is short enough here.
    const chunks = named(service.events, "app.session.chunk").map((event) => ("session_chunk_id" in event ? event.session_chunk_id : ""));
    expect(new Set(chunks).size).toBe(2);
    const facts = { sid, app: service.app, clientAddress: "", relayedBy: undefined, certified, mode: "off", isStrict: false } as const;
    await sessions.enter({ ...facts, user: "bob" }, () => {});
    expect(named(service.events, "app.session.start").map((event) => ("user" in event ? event.user : ""))).toEqual(["alice", "bob"]);
  });

  test("has one event a minute for pages of other sites that open WebSockets in the user's name", async () => {
    await using upstream = await WebUpstream.open();
    const service = await world.service({ spec: { uri: upstream.uri } });
    const asked = ["GET /ws HTTP/1.1", "Host: web.test", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    for (const origin of ["https://evil.test", "https://evil.test", "https://worse.test"]) {
      const { tls } = await world.enter({}, service);
      expect(await askRaw(tls, [...asked, key, `Origin: ${origin}`, "", ""].join("\r\n"))).toMatch(/^HTTP\/1\.1 403 /);
    }
    const error = expect.stringContaining('a page of "https://evil.test" may not open a WebSocket');
    const who = { user: "alice", sid, app_name: "web", server_name: "apps-1", "addr.remote": "192.0.2.7:40000" };
    expect(named(service.events, "auth")).toEqual([expect.objectContaining({ ...who, error })]);
    expect(upstream.seen).toEqual([]);
  });

  test("that cannot be kept begins no session", async () => {
    await using upstream = await WebUpstream.open();
    const record = () => Promise.reject(new PlatformError("limit", "the disk is full"));
    const { error } = await world.enter({ spec: { uri: upstream.uri }, record });
    expect(error?.code).toBe("limit");
    expect(upstream.seen).toEqual([]);
  });

  test("that must be kept and cannot be ends the session, and no request goes on", async () => {
    await using upstream = await WebUpstream.open();
    const recordings = { begin: () => Promise.reject(new PlatformError("limit", "too many recordings")), keep: () => false, sendNow: async () => {} };
    const service = await world.service({ access: { sessionRecording: "node-sync" }, spec: { uri: upstream.uri } });
    const deps = { ...service.deps, recordings };
    const sessions = new AppSessions(deps, new AbortController().signal);
    const { tls } = await world.enter({}, { ...service, deps: { ...deps, sessions } });
    const closed = once(tls, "close");
    tls.write("GET / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    tls.resume();
    await closed;
    expect(upstream.seen).toEqual([]);
    expect(named(service.events, "session.recording.failed")).toHaveLength(1);
  });

  test("keeps a bounded number of sessions that wait for their next connection", async () => {
    const service = await world.service();
    const sessions = new AppSessions(service.deps, new AbortController().signal, { times: { lingerMs: 3_600_000 }, mostWaiting: 2 });
    const facts = { app: service.app, user: "alice", clientAddress: "", relayedBy: undefined, certified, mode: "off", isStrict: false } as const;
    for (const id of ["a", "b", "c"]) (await sessions.enter({ ...facts, sid: id }, () => {})).leave({ received: 1, transmitted: 2 });
    await until("the oldest has ended", () => named(service.events, "app.session.end").length === 1);
    expect(named(service.events, "app.session.end")).toMatchObject([{ sid: "a", bytes_received: 1, bytes_transmitted: 2 }]);
  });
});
