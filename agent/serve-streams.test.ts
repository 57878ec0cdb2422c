import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../core/errors/platform-error.ts";
import { silentLog } from "../core/log/log.ts";
import { readFrame } from "../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "../core/transport/stream-request.ts";
import { openStreams } from "./serve-streams.ts";
import type { Services } from "./service/service.ts";

const request: StreamRequest<"ssh"> = {
  kind: "ssh",
  target: "box",
  parameters: { login: "ann" },
  clientAddress: "192.0.2.1:1",
  sessionId: "s",
  accessRevision: "1",
};
/** A service of this test: replies with success and the login, then ends. */
const greet: Services = {
  ssh: async (stream, { parameters: { login } }) => {
    stream.write(encodeStreamReply({ ok: true }));
    stream.write(login);
  },
};

async function answerTo(bytes: Buffer, options: { services?: Services; stop?: boolean } = {}) {
  const [near, far] = duplexPair();
  const streams = openStreams({ services: options.services ?? greet, log: silentLog }, new AbortController().signal);
  if (options.stop) streams.stop();
  const served = streams.serve(far);
  near.end(bytes);
  const reply = decodeStreamReply(await readFrame(near, { maxLength: maxStreamMessage, timeoutMs: 60_000, what: "reply" }));
  const rest = await readAll(near);
  await served;
  expect(streams.open).toBe(0);
  return { reply, rest };
}

async function readAll(stream: Duplex): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

test("a request is served by its kind", async () => {
  expect(await answerTo(encodeStreamRequest(request))).toEqual({ reply: { ok: true }, rest: "ann" });
});

/** The kind is the sixth byte of a request. */
function unknownKind(request: Buffer): Buffer {
  const changed = Buffer.from(request);
  changed.writeUInt8(9, 5);
  return changed;
}

test.for([
  ["a kind that this host does not serve", unknownKind(encodeStreamRequest(request)), {}, "unsupported"],
  ["a stopping agent", encodeStreamRequest(request), { stop: true }, "unavailable"],
  ["a request that is too long", Buffer.from([0xff, 0xff, 0xff, 0xff]), {}, "invalid"],
  ["an invalid request", Buffer.from([0, 0, 0, 2, 9, 9]), {}, "unsupported"],
  ["a request that ends early", encodeStreamRequest(request).subarray(0, 20), {}, "unavailable"],
  [
    "a refusal of the service",
    encodeStreamRequest(request),
    { services: { ssh: () => Promise.reject(new PlatformError("denied", "no")) } },
    "denied",
  ],
  ["a fault of the service", encodeStreamRequest(request), { services: { ssh: () => Promise.reject(new Error("secret detail")) } }, "internal"],
] as const)("%s is answered as such, without internal details", async ([, bytes, options, code]) => {
  const { reply, rest } = await answerTo(bytes, options);
  expect(reply).toMatchObject({ ok: false, error: { code } });
  expect(JSON.stringify(reply) + rest).not.toContain("secret");
});

test("reports each login, of a stream inside another one too: memory is released once they are over", async () => {
  const logins: string[] = [];
  const services: Services = {
    ssh: (_stream, _request, { established, within }) => {
      established();
      within?.(duplexPair()[0]).established();
      return Promise.resolve();
    },
  };
  const [near, far] = duplexPair();
  const onEstablished = (): void => void logins.push("login");
  const served = openStreams({ services, log: silentLog, onEstablished }, new AbortController().signal).serve(far);
  near.end(encodeStreamRequest(request));
  near.resume();
  await served;
  expect(logins).toEqual(["login", "login"]);
});

/** Streams of a host at its limit, each from an address and with its user logged in or not. */
async function fullHost(held: (place: number) => { readonly address: string; readonly isLoggedIn: boolean }) {
  const open = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let served = 0;
  const services: Services = {
    ssh: async (stream, { parameters: { login } }, { established }) => {
      if (login === "last") return void stream.write(encodeStreamReply({ ok: true }));
      if (login === "in") established();
      served += 1;
      if (served === 1000) full.resolve();
      await Promise.race([open.promise, once(stream, "close")]);
    },
  };
  const streams = openStreams({ services, log: silentLog }, new AbortController().signal);
  const begin = (facts: Partial<StreamRequest<"ssh">>) => {
    const [near, far] = duplexPair();
    near.write(encodeStreamRequest({ ...request, ...facts }));
    return { near, far, served: streams.serve(far) };
  };
  const all = Array.from({ length: 1000 }, (_, place) => {
    const { address, isLoggedIn } = held(place);
    return begin({ clientAddress: `${address}:1`, parameters: { login: isLoggedIn ? "in" : "" } });
  });
  await full.promise;
  const ask = async () => {
    const { near } = begin({ clientAddress: "192.0.2.9:1", parameters: { login: "last" } });
    return decodeStreamReply(await readFrame(near, { maxLength: maxStreamMessage, timeoutMs: 60_000, what: "reply" }));
  };
  const end = async () => {
    open.resolve();
    await Promise.all(all.map(({ served: ended }) => ended));
  };
  return { streams, all, ask, end };
}

test("streams whose proxy sends no request keep no other stream out, and the oldest of them are dropped", async () => {
  const streams = openStreams({ services: greet, log: silentLog }, new AbortController().signal);
  const silent = Array.from({ length: 1001 }, () => {
    const [near, far] = duplexPair();
    return { near, far, served: streams.serve(far) };
  });
  const [near, far] = duplexPair();
  const served = streams.serve(far);
  near.write(encodeStreamRequest(request));
  expect(decodeStreamReply(await readFrame(near, { maxLength: maxStreamMessage, timeoutMs: 60_000, what: "reply" }))).toEqual({ ok: true });
  near.destroy();
  await served;
  const dropped = silent.flatMap((one, place) => (one.far.destroyed ? [place] : []));
  expect(dropped).toEqual(Array.from({ length: dropped.length }, (_, place) => place));
  expect(dropped.length).toBeGreaterThan(0);
  for (const one of silent) one.near.destroy();
  await Promise.all(silent.map((one) => one.served));
  expect(streams.open).toBe(0);
});

test("a stream beyond the limit is refused when all users have logged in", async () => {
  const { ask, end } = await fullHost(() => ({ address: "192.0.2.1", isLoggedIn: true }));
  expect(await ask()).toMatchObject({ ok: false, error: { code: "limit" } });
  await end();
});

test("streams without a logged-in user, through any proxy, are dropped first: those of the address that has most", async () => {
  const addresses = ["192.0.2.1", "192.0.2.2"] as const;
  const { streams, all, ask, end } = await fullHost((place) => ({ address: addresses[place < 600 ? 0 : 1], isLoggedIn: place >= 950 }));
  for (let count = 0; count < 20; count += 1) expect(await ask()).toEqual({ ok: true });
  const dropped = all.flatMap(({ far }, place) => (far.destroyed ? [place] : []));
  expect(dropped).toEqual(Array.from({ length: dropped.length }, (_, place) => place));
  expect(dropped.length).toBeGreaterThan(0);
  expect(streams.open).toBeLessThanOrEqual(1001);
  await end();
});
