import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { tlsPair } from "../../test/inside/tls-pair.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { refuseKubeClient } from "./refuse-kube-client.ts";

const denied = new PlatformError("denied", "access denied: locked", { hint: "call somebody" });
const status = { kind: "Status", status: "Failure", code: 403, message: "access denied: locked\ncall somebody" };
const never = new AbortController().signal;

// Node's HTTP/2 threw outside of any call of ours where bytes were buffered in a TLS stream that was made by hand.
test.each(["buffered", "sent later"])("a client of HTTP/2 whose first bytes are %s reads the refusal, and the end", async (when) => {
  const { server, client } = await tlsPair("h2");
  const refuse = async (): Promise<void> => await refuseKubeClient(server, denied, never);
  const early = when === "buffered" ? undefined : refuse();
  const session = connectHttp2("https://kube.test", { createConnection: () => client });
  session.on("error", () => {});
  const stream = session.request({ ":path": "/api", ":method": "POST" });
  stream.end("x".repeat(5_000));
  const answered = once(stream, "response") as Promise<[{ readonly ":status"?: number }]>;
  if (early === undefined) {
    await once(server, "readable");
    expect(server.readableLength).toBeGreaterThan(0);
  }
  const refused = early ?? refuse();
  const [headers] = await answered;
  expect(headers[":status"]).toBe(403);
  expect(JSON.parse(await text(stream))).toMatchObject(status);
  await refused;
  expect(server.destroyed).toBe(true);
});

test("a stream that is opened and reset in one read is not answered, and a further one is", async () => {
  const { server, client } = await tlsPair("h2");
  const frame = (type: number, flags: number, stream: number, payload: readonly number[]): number[] => [
    ...[0, 0, payload.length, type, flags],
    ...[0, 0, 0, stream],
    ...payload,
  ];
  // `:method: GET`, `:scheme: https`, `:path: /`, `:authority: a`; then RST_STREAM (CANCEL).
  const asked = [0x82, 0x87, 0x84, 0x41, 0x01, 0x61];
  const frames = [...frame(4, 0, 0, []), ...frame(1, 5, 1, asked), ...frame(3, 0, 1, [0, 0, 0, 8]), ...frame(1, 5, 3, asked)];
  client.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from(frames)]));
  await once(server, "readable");
  const refused = refuseKubeClient(server, denied, never);
  expect(await text(client)).toContain("call somebody");
  await refused;
});

test("a client of HTTP/1.1 reads the refusal, and the end", async () => {
  const { server, client } = await tlsPair("http/1.1");
  const refused = refuseKubeClient(server, denied, never);
  const sent = request({ createConnection: () => client, path: "/api" }).end();
  const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer> & { readonly statusCode?: number }];
  expect(response.statusCode).toBe(403);
  expect(JSON.parse(await text(response))).toMatchObject(status);
  await refused;
  expect(server.destroyed).toBe(true);
});

test.each(["h2", "http/1.1"] as const)("a client of %s that requests nothing is dropped at the signal", async (protocol) => {
  const { server } = await tlsPair(protocol);
  const over = new AbortController();
  const refused = refuseKubeClient(server, denied, over.signal);
  over.abort();
  await refused;
  expect(server.destroyed).toBe(true);
});
