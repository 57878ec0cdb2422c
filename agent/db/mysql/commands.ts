import { Reader } from "../../../core/bytes/fields.ts";
import type { MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import { cappedQuery, cappedValue, keptQueryBytes } from "../capped-text.ts";
import type { DatabaseEvent, StatementLog } from "../engine.ts";
import { bulkEvent, type Execution, executeEvent, shownStatement } from "./executions.ts";
import { killIn, knownThread, type ThreadFacts } from "./killed-thread.ts";
import { type QueryAttributes, readAttributes } from "./parameters.ts";
import type { Expected } from "./replies.ts";
import { maxStatements, numberOf, type Statements } from "./statements.ts";
import { u16, u32, u32le, zeroTerminated } from "./wire.ts";

/** The beginning of a command from the client. */
export interface Command {
  /** Its first byte says which command it is. Copy what stays. */
  readonly body: Buffer;
  /** Length of the packet that begins it, and whether that is all of it. */
  readonly length: number;
  readonly whole: boolean;
}

/** What a session knows about its commands. */
export interface CommandFacts extends ThreadFacts {
  readonly statements: Statements;
  /** Whether the session has query attributes. */
  readonly hasAttributes: boolean;
  readonly record: (event: DatabaseEvent) => void;
  /** Whether each command must be recorded before it goes on (`record_session: strict`). */
  readonly isStrict: boolean;
  /** Undefined: statements are not recorded. */
  readonly log?: StatementLog | undefined;
}

export interface Decision {
  /** Undefined: the server does not answer it. */
  readonly answer?: Expected["shape"];
  readonly onPrepared?: Expected["onPrepared"];
  /** The command does not go on, and the client gets this. */
  readonly refusal?: MysqlError;
  /** Takes the place of the command. */
  readonly instead?: Buffer;
  /** For the audit, once the command is whole and has this length in bytes; undefined: nothing to record yet, but `later`, or never. */
  readonly event?: (length: number, later: (event: DatabaseEvent) => void) => DatabaseEvent | undefined;
}

/** Bytes of a command that are looked at: its text, and as much for query attributes before it. */
export const keptOfCommand = 2 * keptQueryBytes;

type Decide = (command: Command, facts: CommandFacts) => Decision;

const silent: Decide = () => ({});
const plain: Decide = () => ({ answer: "ok" });

const decisions: ReadonlyMap<number, Decide> = new Map<number, Decide>([
  [0x01, silent],
  [0x02, (command) => ({ answer: "ok", event: () => ({ event: "db.session.mysql.init_db", schema_name: rest(command) }) })],
  [0x03, decideQuery],
  [0x04, (command) => ({ answer: "columns", event: () => named(`COM_FIELD_LIST ${rest(command).split("\0")[0] ?? ""}`) })],
  [0x05, (command) => ({ answer: "ok", event: () => ({ event: "db.session.mysql.create_db", schema_name: rest(command) }) })],
  [0x06, (command) => ({ answer: "ok", event: () => ({ event: "db.session.mysql.drop_db", schema_name: rest(command) }) })],
  [0x07, ({ body }) => ({ answer: "ok", event: () => ({ event: "db.session.mysql.refresh", subcommand: String(body[1] ?? 0) }) })],
  [0x08, () => ({ answer: "ok", event: () => ({ event: "db.session.mysql.shut_down" }) })],
  [0x09, () => ({ answer: "text" })],
  [0x0a, () => ({ answer: "result", event: () => named("COM_PROCESS_INFO") })],
  [0x0c, decideProcessKill],
  [0x0d, () => ({ answer: "ok", event: () => ({ event: "db.session.mysql.debug" }) })],
  [0x0e, plain],
  [0x11, refuseUser],
  [0x16, decidePrepare],
  [0x17, (command, facts) => decideExecution(command, facts, executeEvent)],
  [0x18, decideLongData],
  [0x19, decideClose],
  [0x1a, decideReset],
  [0x1b, ({ body }) => ({ answer: "ok", event: () => named(`COM_SET_OPTION MULTI_STATEMENTS_${body[1] === 0 ? "ON" : "OFF"}`) })],
  [0x1c, decideFetch],
  [0x1f, decideFresh],
  [0xfa, (command, facts) => decideExecution(command, facts, bulkEvent)],
  ...(
    [
      [0x12, "COM_BINLOG_DUMP"],
      [0x13, "COM_TABLE_DUMP"],
      [0x14, "COM_CONNECT_OUT"],
      [0x15, "COM_REGISTER_SLAVE"],
      [0x1e, "COM_BINLOG_DUMP_GTID"],
      [0x20, "COM_CLONE"],
      [0x21, "COM_SUBSCRIBE_GROUP_REPLICATION_STREAM"],
    ] as const
  ).map(([code, name]) => [code, () => refuseCopy(name)] as const),
]);

/** Decides about a command; undefined: there is none with this number. Throws PlatformError `invalid` for one that is too short. Pure but for `facts`. */
export function decideCommand(command: Command, facts: CommandFacts): Decision | undefined {
  return decisions.get(command.body[0] ?? 0)?.(command, facts);
}

function rest({ body }: Command): string {
  return cappedValue(body.subarray(1, 1_025).toString("utf8").slice(0, 260));
}

function named(text: string): DatabaseEvent {
  return { event: "db.session.query", success: true, ...cappedQuery(Buffer.from(text)) };
}

function refused(text: string, refusal: MysqlError): Decision {
  const error = refusal.message;
  return { refusal, event: () => ({ event: "db.session.query", success: false, error, ...cappedQuery(Buffer.from(text)) }) };
}

/** `03 | attributes | text`. */
function decideQuery({ body, length, whole }: Command, facts: CommandFacts): Decision {
  let attributes: QueryAttributes = { end: 0, texts: [] };
  if (facts.hasAttributes) {
    try {
      attributes = readAttributes(body.subarray(1));
    } catch (thrown) {
      if (body.length === length) throw thrown;
      const message = `the attributes of a query are longer than ${keptQueryBytes} bytes, and its text cannot be recorded: send fewer of them`;
      return refused("COM_QUERY", { code: 1105, state: "HY000", message });
    }
  }
  const start = 1 + attributes.end;
  if (start > keptOfCommand - keptQueryBytes + 1) {
    const message = `the attributes of a query are longer than ${keptQueryBytes} bytes: send fewer of them`;
    return refused("COM_QUERY", { code: 1105, state: "HY000", message });
  }
  const kill = whole ? killIn(body.subarray(start), facts) : undefined;
  if (kill !== undefined && "code" in kill) return refused(body.toString("utf8", start), kill);
  const text = kill ?? body.subarray(start);
  return {
    answer: "result",
    ...(kill !== undefined && { instead: Buffer.concat([body.subarray(0, start), text]) }),
    event: (all) => ({
      event: "db.session.query",
      success: true,
      ...cappedQuery(text, kill === undefined ? all - start : text.length),
      ...(attributes.texts.length > 0 && { db_query_parameters: [...attributes.texts] }),
    }),
  };
}

/** `0C | connection u32`. */
function decideProcessKill({ body }: Command, facts: CommandFacts): Decision {
  const own = u32(readerAt(body));
  const thread = knownThread(own, facts);
  if (typeof thread === "object") return refused(`COM_PROCESS_KILL ${own}`, thread);
  return {
    answer: "ok",
    ...(thread !== own && { instead: Buffer.concat([body.subarray(0, 1), u32le(thread)]) }),
    event: () => ({ event: "db.session.mysql.process_kill", process_id: thread }),
  };
}

/** `11 | user 0 | …`. */
function refuseUser({ body }: Command): Decision {
  const user = cappedValue(zeroTerminated(readerAt(body)).toString("utf8"), 80);
  const message = `another account cannot be used on this connection: connect again as ${user === "" ? "it" : user}`;
  return refused(`COM_CHANGE_USER ${user}`.trimEnd(), { code: 1045, state: "28000", message });
}

function refuseCopy(name: string): Decision {
  const message = `${name} is refused: copies of the whole server do not pass through here`;
  return refused(name, { code: 1227, state: "42000", message });
}

/** `16 | text`. */
function decidePrepare({ body }: Command, { statements }: CommandFacts): Decision {
  const text = body.subarray(1);
  if (statements.isFull) {
    statements.refused();
    const message = `a session has ${maxStatements} prepared statements at most: close some of them`;
    return refused("COM_STMT_PREPARE", { code: 1461, state: "42000", message });
  }
  const statement = statements.begin(shownStatement(text));
  return {
    answer: "prepared",
    onPrepared: (prepared) => statements.answered(statement, prepared),
    event: (all) => ({ event: "db.session.mysql.statements.prepare", ...cappedQuery(text, all - 1) }),
  };
}

/** Its event waits for the number of parameters if the client did not. */
function decideExecution({ body }: Command, facts: CommandFacts, eventOf: (execution: Execution) => DatabaseEvent): Decision {
  const number = u32(readerAt(body));
  const statement = facts.statements.get(number);
  if (statement === undefined) {
    const message = `prepared statement ${number | 0} is not known: prepare it, and wait for its number`;
    return refused("COM_STMT_EXECUTE", { code: 1243, state: "HY000", message });
  }
  const execution = { body, number, statement, hasAttributes: facts.hasAttributes };
  return {
    answer: "result",
    event: (length, later) => {
      if (statement.prepared !== undefined || facts.isStrict) return eventOf({ ...execution, length });
      const copy = Buffer.from(body);
      statement.waiting.push(() => later(eventOf({ ...execution, body: copy, length })));
      return undefined;
    },
  };
}

/** `18 | statement u32 | parameter u16 | data`. */
function decideLongData({ body }: Command, { statements }: CommandFacts): Decision {
  const reader = readerAt(body);
  const number = u32(reader);
  const parameter = u16(reader);
  const statement = statements.get(number);
  return {
    event: (length) => {
      statements.addLong(number, parameter, length - 7);
      const size = { parameter_id: parameter, data_size: length - 7 };
      return { event: "db.session.mysql.statements.send_long_data", ...numberOf(number, statement), ...size };
    },
  };
}

/** `19 | statement u32`. */
function decideClose({ body }: Command, { statements }: CommandFacts): Decision {
  const number = u32(readerAt(body));
  const event = { event: "db.session.mysql.statements.close", ...numberOf(number, statements.get(number)) } as const;
  statements.close(number);
  return { event: () => event };
}

/** `1A | statement u32`. */
function decideReset({ body }: Command, { statements }: CommandFacts): Decision {
  const number = u32(readerAt(body));
  const statement = statements.get(number);
  statement?.long.clear();
  return { answer: "ok", event: () => ({ event: "db.session.mysql.statements.reset", ...numberOf(number, statement) }) };
}

/** `1C | statement u32 | rows u32`. */
function decideFetch({ body }: Command, { statements }: CommandFacts): Decision {
  const reader = readerAt(body);
  const number = u32(reader);
  const rows = u32(reader);
  const event = { event: "db.session.mysql.statements.fetch", ...numberOf(number, statements.get(number)), rows_count: rows } as const;
  return { answer: "rows", event: () => event };
}

function decideFresh(_command: Command, { statements }: CommandFacts): Decision {
  statements.clear();
  return { answer: "ok", event: () => named("COM_RESET_CONNECTION") };
}

/** Behind the number of the command. */
function readerAt(body: Buffer): Reader {
  const reader = new Reader(body);
  reader.u8();
  return reader;
}
