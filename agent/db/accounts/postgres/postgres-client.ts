import type { TLSSocket } from "node:tls";
import { Reader, u32 } from "../../../../core/bytes/fields.ts";
import { takeBytes } from "../../../../core/databases/take-bytes.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { ServerAccess } from "../../engine.ts";
import { cString } from "../../postgres/c-string.ts";
import { decodeError, encodeMessage } from "../../postgres/error-response.ts";
import { encodeStartup } from "../../postgres/first-packet.ts";
import { openServer } from "../../postgres/open-server.ts";

export type Row = readonly (string | null)[];

/** Time for each message of the server, ms: longer than its own limits below. */
const answerMs = 15_000;
/** Longest message, and longest answer to a statement, bytes. */
const maxMessage = 65_536;
const maxAnswer = 1_048_576;
/** The server's own limits for each statement, and a search path to which others cannot add functions. */
const settings = { search_path: "pg_catalog", statement_timeout: "10000", lock_timeout: "8000", client_encoding: "UTF8" } as const;

interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/** One connection that runs statements in the agent's own name, one after the other: a small client of PostgreSQL's extended protocol. */
export class PostgresClient {
  readonly #socket: TLSSocket;
  readonly #never = new AbortController();

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
  }

  /** Logs in by certificate. Throws `unavailable`, `timeout`, and the reason of the signal, which ends the login alone. */
  static async open(access: ServerAccess, database: string, signal: AbortSignal): Promise<PostgresClient> {
    const socket = await openServer(access, signal);
    const client = new PostgresClient(socket.on("error", () => {}));
    try {
      const stated = { user: access.user, database, application_name: "platform-accounts", ...settings };
      const parameters = Object.entries(stated).map(([name, value]) => ({ name, value: Buffer.from(value) }));
      socket.write(encodeStartup({ minor: 0, parameters }));
      await client.#answer("the login");
      return client;
    } catch (thrown) {
      client.close();
      throw thrown;
    }
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  /** Runs one statement with text parameters. `what` names it in errors. Throws `unavailable` with the server's words. */
  async query(what: string, sql: string, parameters: readonly string[] = []): Promise<readonly Row[]> {
    const values = parameters.map((value) => Buffer.concat([u32(Buffer.byteLength(value)), Buffer.from(value)]));
    const bind = Buffer.concat([Buffer.of(0, 0), u16(0), u16(values.length), ...values, u16(0)]);
    const messages = [
      encodeMessage("P", Buffer.concat([Buffer.of(0), cString(sql), u16(0)])),
      encodeMessage("B", bind),
      encodeMessage("E", Buffer.concat([Buffer.of(0), u32(0)])),
      encodeMessage("S", Buffer.alloc(0)),
    ];
    this.#socket.write(Buffer.concat(messages));
    return await this.#answer(what);
  }

  /** Ends the connection as clients do. */
  close(): void {
    if (this.isOpen) this.#socket.end(encodeMessage("X", Buffer.alloc(0)));
    this.#socket.destroySoon();
  }

  /** Everything up to the next ReadyForQuery. A failure of the connection closes it; one of the statement does not. */
  async #answer(what: string): Promise<readonly Row[]> {
    const rows: Row[] = [];
    let refusal: PlatformError | undefined;
    let left = maxAnswer;
    try {
      for (;;) {
        const { type, body } = await this.#next(what);
        left -= 5 + body.length;
        if (left < 0) throw new PlatformError("unavailable", `the server's answer to ${what} has more than ${maxAnswer} bytes`);
        if (type === "Z") break;
        if (type === "D") rows.push(readRow(body));
        if (type === "R" && new Reader(body).u32() !== 0) throw wantsPassword();
        if (type === "E") refusal ??= refused(what, body);
        if (type === "E" && /^(?:FATAL|PANIC)$/.test(decodeError(body).severity)) throw refused(what, body);
      }
    } catch (thrown) {
      this.#socket.destroy();
      throw thrown;
    }
    if (refusal !== undefined) throw refusal;
    return rows;
  }

  async #next(what: string): Promise<Message> {
    const enough = (bytes: Buffer): number | undefined => (bytes.length < 5 ? undefined : lengthOf(bytes));
    const options = { enough, timeoutMs: answerMs, what: `the server's answer to ${what}`, signal: this.#never.signal };
    const bytes = await takeBytes(this.#socket, options);
    return { type: String.fromCharCode(bytes[0] ?? 0), body: bytes.subarray(5) };
  }
}

function lengthOf(header: Buffer): number {
  const length = header.readUInt32BE(1);
  if (length >= 4 && length <= maxMessage) return 1 + length;
  throw new PlatformError("unavailable", `the server sent a message of ${length} bytes; ${maxMessage} are allowed here`);
}

/** `u16 n, n × (i32 length, bytes)`; -1 is NULL. Throws `invalid`. */
function readRow(body: Buffer): Row {
  const reader = new Reader(body);
  const count = reader.take(2).readUInt16BE(0);
  return Array.from({ length: count }, () => {
    const length = reader.u32() | 0;
    return length < 0 ? null : reader.take(length).toString("utf8");
  });
}

function refused(what: string, body: Buffer): PlatformError {
  const { message, state } = decodeError(body);
  return new PlatformError("unavailable", `the server refused ${what}: ${message.slice(0, 500)} (SQLSTATE ${state})`);
}

function wantsPassword(): PlatformError {
  const hint = "pg_hba.conf needs the line 'hostssl all all all cert' before every other one that matches (then: select pg_reload_conf())";
  return new PlatformError("unavailable", "the PostgreSQL server asks the admin_user for a password instead of the certificate", { hint });
}

function u16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 255);
}
