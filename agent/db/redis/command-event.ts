import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { cappedQuery, cappedValue } from "../capped-text.ts";
import type { DatabaseEvent } from "../engine.ts";
import { type Command, keptBytes, keptScriptBytes, wordAt } from "./command.ts";
import { mask, secretPlaces } from "./mask-secrets.ts";
import { scriptPlace } from "./script-place.ts";

export interface CommandFacts {
  readonly command: Command;
  /** The session's account: the only one that an AUTH may show. */
  readonly user: string;
  /** Of all arguments, as far as they are known. */
  readonly bytes: number;
  /** Why it was refused; undefined: it passed. */
  readonly error?: string | undefined;
}

/**
 * The audit event of a command: its name and subcommand as the query, its other arguments as parameters, without secrets. A script is part of the query, up to
 * the length that any query has. Where something is left out, the event has the length of all arguments. Pure.
 */
export function commandEvent({ command, user, bytes, error }: CommandFacts): DatabaseEvent {
  const secrets = secretPlaces(command, user);
  const script = scriptPlace(command);
  const named = script === undefined ? namedWords(command, secrets) : script + 1;
  const query = queryOf(command, named, script);
  const values = command.words.slice(named, named + maxParameters);
  const texts = values.map(({ bytes: word }, index) => (secrets.has(index + named) ? mask : textOf(word)));
  const parameters = texts.map((text) => (text.length <= shortText ? text : cappedValue(text)));
  const isCut = query.isCut || command.count > named + values.length || texts.some((text, index) => text !== parameters[index]);
  return {
    event: "db.session.query",
    db_query: query.text,
    ...(isCut && { db_query_bytes: bytes }),
    ...(parameters.length > 0 && { db_query_parameters: parameters }),
    ...(query.sha1 !== undefined && { script_sha1: query.sha1 }),
    success: error === undefined,
    ...(error !== undefined && { error: error.slice(0, 2_000) }),
  };
}

function namedWords(command: Command, secrets: ReadonlySet<number>): number {
  return withSubcommand.has(wordAt(command, 0)) && command.words.length > 1 && !secrets.has(1) ? 2 : 1;
}

interface QueryText {
  readonly text: string;
  readonly isCut: boolean;
  readonly sha1?: string | undefined;
}

/** The first `named` words, the last of which can be a script. */
function queryOf(command: Command, named: number, script: number | undefined): QueryText {
  const words = command.words.slice(0, named);
  const text = words.map(({ bytes }, index) => (index === script ? scriptText(command, bytes) : textOf(bytes))).join(" ");
  const last = words[words.length - 1];
  const isKept = last === undefined || last.length <= last.bytes.length;
  if (text.length <= shortText && isKept) return { text, isCut: false, sha1: last?.sha1 };
  const encoded = Buffer.from(text);
  // A longer length than is there marks the text as cut.
  const { db_query, db_query_bytes } = cappedQuery(encoded, isKept ? encoded.length : Math.max(encoded.length, keptScriptBytes) + 1);
  return { text: db_query, isCut: db_query_bytes !== undefined, sha1: last?.sha1 };
}

/** A Lua script is shown as text even where some of its bytes are not text; the output of FUNCTION DUMP is binary. */
function scriptText(command: Command, bytes: Buffer): string {
  return wordAt(command, 1) === "restore" ? bytes.toString("base64") : bytes.toString("utf8");
}

/** Length of a text that fits however it is escaped. */
const shortText = 80;

const withSubcommand = new Set(
  "acl client cluster command config debug function latency memory module object pubsub script sentinel slowlog xgroup xinfo".split(" "),
);

/** Bytes that are not text are in base64. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  // The last character can be incomplete where the kept bytes end.
  const isText = !text.slice(0, bytes.length < keptBytes ? undefined : -3).includes("\uFFFD") || Buffer.from(text).equals(bytes);
  return isText ? text : bytes.toString("base64");
}
