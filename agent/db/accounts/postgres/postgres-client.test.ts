import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import fc from "fast-check";
import { expect, test } from "vitest";
import { u32 } from "../../../../core/bytes/fields.ts";
import { takeBytes } from "../../../../core/databases/take-bytes.ts";
import { someRuns } from "../../../../test/fuzz/some-runs.ts";
import { socketPair } from "../../../../test/inside/socket-pair.ts";
import type { ServerAccess } from "../../engine.ts";
import { encodeMessage } from "../../postgres/error-response.ts";
import { decodeFirstPacket } from "../../postgres/first-packet.ts";
import { authenticationOk, complete, failed, inPieces, keyData, ready } from "../../postgres/testing/postgres-bytes.ts";
import { PostgresClient } from "./postgres-client.ts";

const { signal } = new AbortController();
const login = Buffer.concat([authenticationOk, keyData(1, Buffer.from("real")), ready]);

function take(socket: Socket, enough: (bytes: Buffer) => number | undefined): Promise<Buffer> {
  return takeBytes(socket, { enough, timeoutMs: 10_000, what: "it", signal });
}
const packet = (socket: Socket) => take(socket, (bytes) => (bytes.length < 4 ? undefined : bytes.readUInt32BE(0)));

/** A client that is logging in, and the server's end behind the startup packet, which TLS is left out of. */
async function open(greeting: Buffer = login) {
  const [near, far] = await socketPair();
  const access: ServerAccess = { user: "platform-admin", dial: async () => near, secure: async () => near as TLSSocket };
  const client = PostgresClient.open(access, "postgres", signal);
  client.catch(() => {});
  await packet(far);
  far.write("S");
  const startup = decodeFirstPacket(await packet(far));
  far.write(greeting);
  return { client, far, startup };
}

const row = (values: readonly (string | null)[]): Buffer => {
  const each = values.map((value) => (value === null ? u32(0xffff_ffff) : Buffer.concat([u32(Buffer.byteLength(value)), Buffer.from(value)])));
  return encodeMessage("D", Buffer.concat([Buffer.of(0, values.length), ...each]));
};

test("it logs in with its own search path and limits, and its parameters are apart from the statement", async () => {
  const { client, far, startup } = await open();
  const stated = startup.kind === "startup" ? Object.fromEntries(startup.parameters.map(({ name, value }) => [name, String(value)])) : {};
  expect(stated).toMatchObject({ user: "platform-admin", database: "postgres", search_path: "pg_catalog", statement_timeout: "10000" });
  const asked = (await client).query("it", "select $1, $2", ["o'alice", ""]);
  const sync = encodeMessage("S", Buffer.alloc(0));
  const bytes = await take(far, (held) => (held.includes(sync) ? held.length : undefined));
  expect(bytes.toString("latin1")).toContain("select $1, $2\0");
  expect(bytes.includes(Buffer.concat([Buffer.of(0, 2), u32(7), Buffer.from("o'alice"), u32(0)]))).toBe(true);
  far.write(Buffer.concat([row(["x", null]), complete("SELECT 1"), ready]));
  expect(await asked).toEqual([["x", null]]);
  (await client).close();
});

test("rows come through in any pieces", async () => {
  const rows = fc.array(fc.array(fc.option(fc.string({ maxLength: 40 })), { maxLength: 4 }), { maxLength: 6 });
  // A connection goes on from run to run, as a login costs more than a query; after a failure there is a new one.
  let held: { readonly client: PostgresClient; readonly far: Socket } | undefined;
  const begin = async () => {
    const { client, far } = await open();
    far.resume();
    return { client: await client, far };
  };
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat(2_000), { maxLength: 8 }), async (values, cuts) => {
      const now = held ?? (await begin());
      held = undefined;
      const { client, far } = now;
      const asked = client.query("it", "select");
      for (const piece of inPieces(Buffer.concat([...values.map(row), complete("SELECT"), ready]), cuts)) {
        far.write(piece);
        await new Promise(setImmediate);
      }
      expect(await asked).toEqual(values);
      held = now;
    }),
    { numRuns: someRuns(40) },
  );
  held?.client.close();
  held?.far.destroy();
});

test("a refused statement names what was refused, and the connection goes on; a fatal one ends it", async () => {
  const { client: opening, far } = await open();
  const client = await opening;
  const first = client.query("the creation of the account", "create");
  far.write(Buffer.concat([failed("42501", "permission denied to create role"), ready]));
  await expect(first).rejects.toMatchObject({
    code: "unavailable",
    message: "the server refused the creation of the account: permission denied to create role (SQLSTATE 42501)",
  });
  expect(client.isOpen).toBe(true);
  const second = client.query("it", "select");
  far.end(failed("57P01", "terminating connection", "FATAL"));
  await expect(second).rejects.toMatchObject({ code: "unavailable" });
  expect(client.isOpen).toBe(false);
});

test("a server that asks for a password, and any bytes, end the login with a reason", async () => {
  const password = await open(encodeMessage("R", u32(3)));
  await expect(password.client).rejects.toMatchObject({ code: "unavailable", hint: expect.stringContaining("pg_hba.conf") });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (bytes) => {
      const { client, far } = await open(Buffer.from(bytes));
      far.end();
      await expect(client).rejects.toMatchObject({ code: expect.stringMatching(/^(unavailable|invalid)$/) });
    }),
    { numRuns: someRuns(40) },
  );
});

test("an answer without an end is cut", async () => {
  const { client: opening, far } = await open();
  const client = await opening;
  const asked = client.query("it", "select");
  far.write(Buffer.concat(Array.from({ length: 40 }, () => row(["x".repeat(30_000)]))));
  await expect(asked).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("more than 1048576 bytes") });
  expect(client.isOpen).toBe(false);
});
