import { once } from "node:events";
import { connect, type OutgoingHttpHeaders } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectAuthTls, openAuthClient } from "../../../core/api/auth-client.ts";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { openSocket } from "../../../test/inside/open-cluster.ts";

/** Node and Connect throw for these, in a place where nobody would catch it: that would end the service. */
describe("requests of strangers that are not calls", () => {
  let world: TestAuth;
  beforeAll(async () => {
    world = await openTestAuth();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const dial = async (): Promise<TLSSocket> => {
    const open = async () => {
      const [near, far] = duplexPair();
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
      world.auth.inject(far, "203.0.113.7");
      return near;
    };
    return (await connectAuthTls({ open, ca: [world.auth.hostCaPem] }, ["h2"])).on("error", () => {});
  };

  const call = "/platform.auth.v1.AuthService/GetCluster";
  const status = async (headers: OutgoingHttpHeaders): Promise<unknown> => {
    const tls = await dial();
    const session = connect("http://auth.test", { createConnection: () => tls });
    try {
      const stream = session.request({ ":path": call, ":method": "POST", "content-type": "application/grpc", te: "trailers", ...headers });
      const [head] = (await once(stream.end(), "response")) as [OutgoingHttpHeaders];
      return head[":status"];
    } finally {
      session.destroy();
    }
  };

  test.for([
    [{}, 200],
    [{ ":authority": "[" }, 400],
    [{ ":authority": "auth.test:99999" }, 400],
    [{ ":path": "/nothing" }, 404],
    [{ expect: "100-continue" }, 200],
    [{ expect: "something" }, 200],
    [{ ":authority": undefined, host: "auth.test" }, 200],
    [{ ":authority": undefined, host: "[" }, 400],
  ] as const)("%j is answered %i", async ([headers, expected]) => {
    expect(await status(headers)).toBe(expected);
  });

  test.for([
    [":method: POST", ":path: /nothing"],
    [":method: POST", `:path: ${call}`],
    [":method: POST", `:path: ${call}`, "expect: 100-continue"],
    [":method: POST", `:path: ${call}`, "expect: something"],
    [":method: CONNECT"],
  ])("%j, opened and reset in one read, is left alone", async (fields) => {
    const tls = await dial();
    const pong = new Promise<void>((resolve) => tls.on("data", (chunk: Buffer) => chunk.includes("a-ping-1") && resolve()));
    const asked = [...fields, ":authority: auth.test", ...(fields.length > 1 ? [":scheme: https"] : [])].sort();
    const frames = [frame(4, 0, ""), frame(1, 4, literals(asked)), frame(3, 0, "\0\0\0\x08"), frame(6, 0, "a-ping-1", 0)];
    tls.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ...frames]));
    await pong;
    tls.destroy();
    expect(await status({})).toBe(200);
  });
});

// Limits of the server would end them later: 10 s for a handshake, a minute for an idle connection.
test("a connection through a proxy ends as its client leaves, also in the middle of its handshake", { timeout: 8_000 }, async () => {
  await using t = await openTestAuth();
  // As those of a proxy's web port, sockets do not end by themselves.
  await using web = createServer({ allowHalfOpen: true }, (socket) => t.auth.inject(socket, "203.0.113.7"));
  await once(web.listen(0, "127.0.0.1"), "listening");
  const open = async () => await openSocket((web.address() as AddressInfo).port);
  const accepted = async (): Promise<Socket> => ((await once(web, "connection")) as [Socket])[0];
  const [arriving, client] = await Promise.all([accepted(), open()]);
  client.end();
  await once(arriving, "close");
  const arrived = accepted();
  const connection = openAuthClient({ open, ca: [t.auth.hostCaPem] });
  expect((await connection.client.getCluster({})).caPins).toHaveLength(1);
  connection.close();
  await once(await arrived, "close");
});

/** A frame of HTTP/2 (RFC 9113 §4.1). */
function frame(type: number, flags: number, payload: string, stream = type === 4 ? 0 : 1): Buffer {
  return Buffer.concat([Buffer.of(0, 0, payload.length, type, flags, 0, 0, 0, stream), Buffer.from(payload, "latin1")]);
}

/** Literal fields without indexing (RFC 7541 §6.2.2), shorter than 127 bytes. */
function literals(fields: readonly string[]): string {
  const text = (value: string): string => String.fromCharCode(value.length) + value;
  return fields
    .map((field) => field.split(": "))
    .map(([name = "", value = ""]) => `\0${text(name)}${text(value)}`)
    .join("");
}
