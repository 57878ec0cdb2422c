import { Reader } from "../../../core/bytes/fields.ts";
import { type Capabilities, capability } from "../../../core/databases/mysql/capabilities.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { has } from "./capabilities.ts";
import { encodeLenencBytes, lenencBytes, u32, u32le, zeroTerminated } from "./wire.ts";

/** What a client states when it logs in. Its password is skipped. */
export interface LoginPacket {
  readonly capabilities: Capabilities;
  readonly maxPacket: number;
  readonly charset: number;
  readonly user: string;
  /** Empty: none. */
  readonly schema: string;
  /** Names and values as they came, for the server. */
  readonly attributes: Buffer;
  /** Whether the client has answered to the salt by `caching_sha2_password`: it then waits for the message that the answer was right, and for the OK. */
  readonly awaitsWord: boolean;
}

/** Longest login packet that is read, bytes: 64 KiB of attributes, and the names. */
export const maxLogin = 68_000;
/** Longest account name of MariaDB and longest schema name, characters. */
const maxAccount = 80;
const maxSchema = 64;

/**
 * Login, protocol 4.1: `capabilities u32 | maximum packet u32 | charset u8 | 0 × 19 | extended capabilities u32 (MariaDB) | user 0 | answer to the
 * salt | schema 0 | plugin 0 | attributes`, the last four as the capabilities say. Throws PlatformError `invalid`, `unsupported`.
 */
export function parseLogin(payload: Buffer): LoginPacket {
  const reader = new Reader(payload);
  const flags = u32(reader);
  if ((flags & capability.protocol41) === 0) throw new PlatformError("unsupported", "the client is older than version 4.1 of the protocol");
  const maxPacket = u32(reader);
  const charset = reader.u8();
  reader.take(19);
  const capabilities = { flags, extended: (flags & capability.mysql) === 0 ? u32(reader) : 0 };
  if (has(capabilities, capability.mysql)) reader.take(4);
  if (reader.done && has(capabilities, capability.ssl)) {
    throw new PlatformError("unsupported", "the client asks for TLS, which is not offered here: the tunnel encrypts the connection", {
      hint: "connect with --ssl-mode=PREFERRED (MySQL) or --skip-ssl (MariaDB)",
    });
  }
  const user = text(zeroTerminated(reader), "account", maxAccount);
  const answer = answerTo(reader, capabilities);
  const schema = has(capabilities, capability.connectWithDb) && !reader.done ? text(zeroTerminated(reader), "schema", maxSchema) : "";
  const plugin = has(capabilities, capability.pluginAuth) && !reader.done ? pluginOf(reader) : "";
  const attributes = has(capabilities, capability.connectAttributes) && !reader.done ? lenencBytes(reader) : Buffer.alloc(0);
  const awaitsWord = answer.length > 1 && plugin === "caching_sha2_password";
  return { capabilities, maxPacket, charset, user, schema, attributes: Buffer.from(attributes), awaitsWord };
}

function answerTo(reader: Reader, capabilities: Capabilities): Buffer {
  if (has(capabilities, capability.lenencAuth)) return lenencBytes(reader);
  if (has(capabilities, capability.secureConnection)) return reader.take(reader.u8());
  return zeroTerminated(reader);
}

/** Some clients leave out the zero at the end of the packet. */
function pluginOf(reader: Reader): string {
  const end = reader.bytes.indexOf(0, reader.position);
  return reader
    .take(end < 0 ? reader.remaining : end + 1 - reader.position)
    .toString("latin1")
    .replace("\0", "");
}

function text(bytes: Buffer, what: string, maxLength: number): string {
  const value = bytes.toString("utf8");
  if (value.length <= maxLength && !value.includes("\uFFFD")) return value;
  throw new PlatformError("invalid", `the name of the ${what} is longer than ${maxLength} characters, or not UTF-8`);
}

/** Name of the client program by its attributes; undefined if they lack it. */
export function userAgentOf(attributes: Buffer): string | undefined {
  const reader = new Reader(attributes);
  const found = new Map<string, string>();
  try {
    while (!reader.done) found.set(lenencBytes(reader).toString("utf8"), lenencBytes(reader).toString("utf8"));
  } catch {
    // The server judges them; what was read counts.
  }
  const [program, library] = [found.get("program_name"), found.get("_client_name")];
  const named = [library, found.get("_client_version")].filter((part) => part !== undefined).join(" ");
  const whole = [program, named].filter((part) => part !== undefined && part !== "").join(", ");
  return whole === "" ? undefined : whole.slice(0, 256);
}

/** The request for TLS: the beginning of a login. */
export function encodeTlsRequest({ capabilities, maxPacket, charset }: Pick<LoginPacket, "capabilities" | "maxPacket" | "charset">): Buffer {
  const { flags, extended } = capabilities;
  return Buffer.concat([u32le(flags), u32le(maxPacket), Buffer.of(charset), Buffer.alloc(19), u32le(extended)]);
}

/** A login without a password. */
export function encodeLogin(login: Omit<LoginPacket, "awaitsWord">, plugin: string): Buffer {
  const { capabilities, user, schema, attributes } = login;
  return Buffer.concat([
    encodeTlsRequest(login),
    Buffer.from(`${user}\0`),
    Buffer.of(0),
    ...(has(capabilities, capability.connectWithDb) ? [Buffer.from(`${schema}\0`)] : []),
    ...(has(capabilities, capability.pluginAuth) ? [Buffer.from(`${plugin}\0`, "latin1")] : []),
    ...(has(capabilities, capability.connectAttributes) ? [encodeLenencBytes(attributes)] : []),
  ]);
}
