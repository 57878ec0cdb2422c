import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import fc from "fast-check";
import { expect, test } from "vitest";
import { errorPacket } from "../../../../core/databases/mysql/error-packet.ts";
import { encodeGreeting } from "../../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import { someRuns } from "../../../../test/fuzz/some-runs.ts";
import { socketPair } from "../../../../test/inside/socket-pair.ts";
import type { ServerAccess } from "../../engine.ts";
import { parseLogin } from "../../mysql/login-packet.ts";
import { readPacket } from "../../mysql/read-packet.ts";
import { okPacket } from "../../mysql/server-answer.ts";
import { encodeLenencBytes } from "../../mysql/wire.ts";
import { inPieces } from "../../postgres/testing/postgres-bytes.ts";
import { MysqlClient } from "./mysql-client.ts";

const { signal } = new AbortController();
const autocommit = 2;
const read = async (socket: Socket, sequence: number): Promise<Buffer> =>
  await readPacket(socket, { maxLength: 1 << 20, sequence, what: "it", signal });

/** A client that is logging in, and the server's end, which TLS is left out of. */
async function greet(version = "9.7.4", answer: Buffer = okPacket(3, autocommit)) {
  const [near, far] = await socketPair();
  const access: ServerAccess = { user: "platform-admin", dial: async () => near, secure: async () => near as TLSSocket };
  const client = MysqlClient.open(access, "", signal);
  client.catch(() => {});
  const facts = { connectionId: 1, salt: Buffer.alloc(20, 7), capabilities: { flags: 0xdfff_ffff, extended: 0 }, charset: 255, status: 2 };
  far.write(packet(0, encodeGreeting({ ...facts, version, plugin: "caching_sha2_password" })));
  await read(far, 1);
  const login = parseLogin(await read(far, 2));
  far.write(answer);
  return { client, far, login };
}

/** One that has logged in and has its settings. */
async function open(version?: string) {
  const { client: opening, far, login } = await greet(version);
  const settings = String(await read(far, 0));
  far.write(okPacket(1, autocommit));
  return { client: await opening, far, login, settings };
}

const eof = (sequence: number, status = autocommit): Buffer => packet(sequence, Buffer.of(0xfe, 0, 0, status, 0));
/** A result set with columns of which the client reads nothing. */
function result(rows: readonly (readonly (string | null)[])[], columns: number): Buffer {
  const texts = rows.map((row) => Buffer.concat(row.map((value) => (value === null ? Buffer.of(0xfb) : encodeLenencBytes(Buffer.from(value))))));
  const definitions = Array.from({ length: columns }, (_, index) => packet(2 + index, Buffer.from("def")));
  const start = 3 + columns;
  return Buffer.concat([
    packet(1, Buffer.of(columns)),
    ...definitions,
    eof(2 + columns),
    ...texts.map((text, index) => packet(start + index, text)),
    eof(start + rows.length),
  ]);
}

test("it logs in without a password, and sets the mode that its quoting is for before anything else", async () => {
  const { client, login, settings } = await open();
  expect(login).toMatchObject({ user: "platform-admin", awaitsWord: false });
  expect(settings).toContain("set session sql_mode = 'NO_BACKSLASH_ESCAPES'");
  expect(client.isMariadb).toBe(false);
  expect((await open("5.5.5-10.11.18-MariaDB")).client.isMariadb).toBe(true);
});

test("rows come through in any pieces, NULL distinct from the empty text", async () => {
  const width = 3;
  const rows = fc.array(fc.array(fc.option(fc.string({ maxLength: 40 })), { minLength: width, maxLength: width }), { maxLength: 5 });
  // A connection goes on from run to run, as a login costs more than a query; after a failure there is a new one.
  let held: Awaited<ReturnType<typeof open>> | undefined;
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat(2_000), { maxLength: 8 }), async (values, cuts) => {
      const now = held ?? (await open());
      held = undefined;
      const { client, far } = now;
      const asked = client.query("it", "select");
      await read(far, 0);
      for (const piece of inPieces(result(values, width), cuts)) {
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

test("several statements are one command; the first refusal ends them, and the connection goes on", async () => {
  const { client, far } = await open();
  const both = client.query("it", "one", "two");
  expect(String(await read(far, 0))).toBe("\u0003one;\ntwo");
  far.write(Buffer.concat([okPacket(1, autocommit | 8), okPacket(2, autocommit)]));
  expect(await both).toEqual([]);
  const refused = client.query("the creation of the account", "one", "two");
  await read(far, 0);
  far.write(Buffer.concat([okPacket(1, autocommit | 8), errorPacket(2, { code: 1227, state: "42000", message: "Access denied" })]));
  await expect(refused).rejects.toMatchObject({
    code: "unavailable",
    message: "the server refused the creation of the account: Access denied (error 1227)",
  });
  expect(client.isOpen).toBe(true);
});

test("a refused login says why; any bytes in place of an answer end the connection", async () => {
  const { client } = await greet("9.7.4", errorPacket(3, { code: 1045, state: "28000", message: "Access denied for user" }));
  await expect(client).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("Access denied for user") });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
      const { client: one, far } = await open();
      const asked = one.query("it", "select");
      await read(far, 0);
      far.end(bytes[0] === 0xff || bytes[0] === 0 ? Buffer.from(bytes) : packet(1, Buffer.from(bytes)));
      await asked.then(
        () => {},
        (thrown: unknown) => expect(thrown).toMatchObject({ code: expect.stringMatching(/^(unavailable|invalid)$/) }),
      );
    }),
    { numRuns: someRuns(60) },
  );
});

test("an answer without an end is cut", async () => {
  const { client, far } = await open();
  const asked = client.query("it", "select");
  await read(far, 0);
  far.write(
    result(
      Array.from({ length: 40 }, () => ["x".repeat(30_000)]),
      1,
    ),
  );
  await expect(asked).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("more than 1048576 bytes") });
  expect(client.isOpen).toBe(false);
});
