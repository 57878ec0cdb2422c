import type { TLSSocket } from "node:tls";
import { Reader } from "../../../../core/bytes/fields.ts";
import { capability } from "../../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { ServerAccess } from "../../engine.ts";
import { logInToServer } from "../../mysql/log-in-to-server.ts";
import { readPacket } from "../../mysql/read-packet.ts";
import { okStatus, parseError } from "../../mysql/server-answer.ts";
import { lenenc, lenencBytes, u16 } from "../../mysql/wire.ts";

export type Row = readonly (string | null)[];

/** Capabilities that do not change the form of results: these end with EOF packets, and one command may hold several statements. */
const flags =
  capability.mysql |
  capability.protocol41 |
  // Transactions, several statements and several results.
  (1 << 13) |
  (1 << 16) |
  (1 << 17) |
  capability.secureConnection |
  capability.pluginAuth;
/** utf8mb4_general_ci, which MySQL and MariaDB know. */
const charset = 45;
/** Longest packet, and longest answer to a command, bytes. */
const maxPacket = 65_536;
const maxAnswer = 1_048_576;
const moreResults = 8;
const queryCommand = 3;
const quitCommand = 1;
/** Texts are as `quote.ts` writes them. The server waits for its own locks for less time than this client waits for an answer, and never disconnects by itself. */
const settings =
  "set session sql_mode = 'NO_BACKSLASH_ESCAPES', session lock_wait_timeout = 8, session wait_timeout = 31536000, session net_read_timeout = 60";

/** One connection that runs statements in the agent's own name: a small client of the text protocol. */
export class MysqlClient {
  readonly #socket: TLSSocket;
  readonly isMariadb: boolean;
  readonly #never = new AbortController();
  #sequence = 0;
  /** Bytes that may still come of the answer. */
  #left = maxAnswer;

  private constructor(socket: TLSSocket, isMariadb: boolean) {
    this.#socket = socket;
    this.isMariadb = isMariadb;
  }

  /** Logs in by certificate. Throws `unavailable`, `invalid`, `timeout`, and the reason of the signal, which ends the login alone. */
  static async open(access: ServerAccess, schema: string, signal: AbortSignal): Promise<MysqlClient> {
    let isMariadb = false;
    const login = {
      capabilities: { flags, extended: 0 },
      maxPacket,
      charset,
      user: access.user,
      schema,
      attributes: Buffer.alloc(0),
      awaitsWord: false,
    };
    const onGreeting = ({ version }: { readonly version: string }): void => {
      isMariadb = version.includes("MariaDB");
    };
    const result = await logInToServer({ access, login, signal, onGreeting });
    if ("refusal" in result) {
      const { message, code } = result.refusal;
      throw new PlatformError("unavailable", `the server refused the login of ${access.user}: ${message} (error ${code})`);
    }
    const client = new MysqlClient(result.socket, isMariadb);
    await client.query("the settings of the connection", settings);
    return client;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  /** Runs statements, each only after the success of the one before; returns the rows of all of them. Throws `unavailable` with the server's words. */
  async query(what: string, ...statements: readonly string[]): Promise<readonly Row[]> {
    this.#sequence = 0;
    this.#left = maxAnswer;
    this.#socket.write(packet(0, Buffer.concat([Buffer.of(queryCommand), Buffer.from(statements.join(";\n"))])));
    const rows: Row[] = [];
    const end = await this.#results(what, rows);
    if (end !== undefined) throw end;
    return rows;
  }

  /** Ends the connection as clients do. */
  close(): void {
    if (this.isOpen) this.#socket.end(packet(0, Buffer.of(quitCommand)));
    this.#socket.destroySoon();
  }

  /** The server's refusal of one of them, if any. A failure of the connection closes it. */
  async #results(what: string, rows: Row[]): Promise<PlatformError | undefined> {
    try {
      for (;;) {
        const end = await this.#result(what, rows);
        if (end instanceof PlatformError) return end;
        if ((end & moreResults) === 0) return undefined;
      }
    } catch (thrown) {
      this.#socket.destroy();
      throw thrown;
    }
  }

  /** The status at the end of one result, or the server's refusal. */
  async #result(what: string, rows: Row[]): Promise<number | PlatformError> {
    const first = await this.#next(what);
    if (first[0] === 0) return okStatus(first);
    if (first[0] === 0xff) return refused(what, first);
    const columns = lenenc(new Reader(first));
    for (let column = 0; column <= columns; column += 1) await this.#next(what);
    for (;;) {
      const row = await this.#next(what);
      if (row[0] === 0xff) return refused(what, row);
      if (row[0] === 0xfe && row.length < 9) return statusOf(row);
      rows.push(readRow(row, columns));
    }
  }

  async #next(what: string): Promise<Buffer> {
    this.#sequence += 1;
    const options = { maxLength: maxPacket, sequence: this.#sequence, what: `the server's answer to ${what}`, signal: this.#never.signal };
    const payload = await readPacket(this.#socket, options);
    this.#left -= 4 + payload.length;
    if (this.#left < 0) throw new PlatformError("unavailable", `the server's answer to ${what} has more than ${maxAnswer} bytes`);
    return payload;
  }
}

function refused(what: string, payload: Buffer): PlatformError {
  const { code, message } = parseError(payload);
  return new PlatformError("unavailable", `the server refused ${what}: ${message} (error ${code})`);
}

/** `FE | warnings u16 | status u16`. */
function statusOf(payload: Buffer): number {
  const reader = new Reader(payload);
  reader.take(3);
  return u16(reader);
}

function readRow(payload: Buffer, columns: number): Row {
  const reader = new Reader(payload);
  return Array.from({ length: columns }, () => {
    if (reader.bytes[reader.position] !== 0xfb) return lenencBytes(reader).toString("utf8");
    reader.u8();
    return null;
  });
}
