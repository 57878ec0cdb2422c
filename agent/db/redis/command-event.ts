import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { cappedQuery, cappedValue } from "../capped-text.ts";
import type { DatabaseEvent } from "../engine.ts";
import { type Command, keptBytes, wordAt } from "./command.ts";
import { mask, secretPlaces } from "./mask-secrets.ts";

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
 * The audit event of a command: its name and subcommand as the query, its other arguments as parameters, without secrets. Where something is left
 * out, the event has the length of all arguments. Pure.
 */
export function commandEvent({ command, user, bytes, error }: CommandFacts): DatabaseEvent {
  const secrets = secretPlaces(command, user);
  const named = withSubcommand.has(wordAt(command, 0)) && command.words.length > 1 && !secrets.has(1) ? 2 : 1;
  const query = command.words
    .slice(0, named)
    .map(({ bytes: word }) => textOf(word))
    .join(" ");
  const values = command.words.slice(named, named + maxParameters);
  const texts = values.map(({ bytes: word }, index) => (secrets.has(index + named) ? mask : textOf(word)));
  const parameters = texts.map((text) => (text.length <= shortText ? text : cappedValue(text)));
  const isCut = command.count > named + values.length || texts.some((text, index) => text !== parameters[index]);
  return {
    event: "db.session.query",
    ...(query.length <= shortText ? { db_query: query } : cappedQuery(Buffer.from(query))),
    ...(isCut && { db_query_bytes: bytes }),
    ...(parameters.length > 0 && { db_query_parameters: parameters }),
    success: error === undefined,
    ...(error !== undefined && { error: error.slice(0, 2_000) }),
  };
}

/** A text that needs no limit, however it is escaped. */
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
