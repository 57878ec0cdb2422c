import { Reader, u32 } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Frame, FrameFormat, Judge, Verdict } from "../frame-filter.ts";
import { decodeError, encodeMessage } from "./error-response.ts";
import { type CancelKey, readCancelKey } from "./first-packet.ts";
import type { Pipeline } from "./pipeline.ts";

/** Bytes needed of the server's messages; all others pass by their headers. */
const kept: ReadonlyMap<number, number> = new Map(
  Object.entries({ R: 4, K: 4 + 256 + 1, E: 1_024, C: 64 }).map(([type, bytes]) => [type.charCodeAt(0), bytes]),
);

export const serverFormat: FrameFormat = {
  headerBytes: 5,
  lengthOf: (header) => {
    const length = header.readUInt32BE(1);
    const type = header[0] ?? 0;
    if (length >= 4 && length < 2 ** 31 && type > 0x20 && type < 0x7f) return 1 + length;
    throw new PlatformError("invalid", "the server sent bytes that are not PostgreSQL's protocol");
  },
  keep: (header) => kept.get(header[0] ?? 0) ?? 0,
};

export interface ServerMessagesOptions {
  readonly pipeline: Pipeline;
  /** The key for the client in place of the server's; undefined: none. */
  readonly replaceKey: (key: CancelKey) => CancelKey | undefined;
  /** The server has finished the login. */
  readonly onReady: () => void;
}

/** Follows the server's messages: from the answer to the startup packet on, up to the end. */
export class ServerMessages {
  readonly #options: ServerMessagesOptions;
  #isReady = false;
  #hasKey = false;
  #fatal: PlatformError | undefined;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
  }

  /** The server's reason for the end of the session, which the client has got too. */
  get fatal(): PlatformError | undefined {
    return this.#fatal;
  }

  readonly judge: Judge = ({ header, body, length }) => {
    const type = header[0] ?? 0;
    // DataRow, CopyData.
    if (type === 0x44) this.#options.pipeline.row();
    if (type === 0x44 || type === 0x64) return "pass";
    if (type === 0x52) requireNoPassword(body);
    if (type === 0x4b) return this.#replaceKey({ header, body, length });
    const failure = type === 0x45 ? decodeError(body) : undefined;
    if (failure !== undefined && /^(?:FATAL|PANIC)$/.test(failure.severity)) {
      this.#fatal = new PlatformError("unavailable", `the server ended the session: ${failure.message} (SQLSTATE ${failure.state})`);
    }
    if (this.#isReady) this.#follow(type, body, failure);
    else if (type === 0x5a) this.#begin();
    return "pass";
  };

  #begin(): void {
    this.#isReady = true;
    this.#options.onReady();
  }

  #follow(type: number, body: Buffer, failure: ReturnType<typeof decodeError> | undefined): void {
    const tag = type === 0x43 ? { tag: body.toString("latin1") } : {};
    this.#options.pipeline.answer(String.fromCharCode(type), { ...tag, ...(failure && { failure }) });
  }

  #replaceKey({ body, length, header }: Frame): Verdict {
    if (this.#hasKey || length - header.length !== body.length) throw new PlatformError("invalid", "the server sent a wrong cancel key");
    this.#hasKey = true;
    const key = this.#options.replaceKey(readCancelKey(new Reader(body)));
    return key === undefined ? "drop" : encodeMessage("K", Buffer.concat([u32(key.pid), key.secret]));
  }
}

/** AuthenticationOk is 0; everything else asks for a secret, which neither the agent nor the user has. */
function requireNoPassword(body: Buffer): void {
  if (new Reader(body).u32() === 0) return;
  const hint = "pg_hba.conf needs the line 'hostssl all all all cert' before every other one that matches (then: select pg_reload_conf())";
  throw new PlatformError("unavailable", "the PostgreSQL server asks for a password instead of the certificate", { hint });
}
