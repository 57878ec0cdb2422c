import { PlatformError } from "../../../core/errors/platform-error.ts";
import { elementsOf, fieldOf, isNested, maxDepth, nameIn, textOf } from "./bson-elements.ts";
import { bsonType, FieldCursor, malformed } from "./bson-fields.ts";
import { concernsAll } from "./concerns-all.ts";
import { dataCommands, isAboutAccounts, mayNameDatabase, type NamedCommand } from "./known-commands.ts";
import type { Request } from "./wire-message.ts";

/** Stages of an aggregation that read or write another collection, which may be one of another database. */
const stages = new Set(["$lookup", "$graphLookup", "$unionWith", "$out", "$internalOutToDifferentDB", "$merge", "$changeStream"]);
/** Fields at the top of a command that is not known to stay in its own database. */
const databaseFields = new Set(["ns", "nss", "namespace", "db", "dbName", "database"]);
/** Stands for all databases of the server. */
export const allDatabases = "*";

/** Maximum fields of a command, without those of its documents: real ones have some dozens. */
export const maxFields = 1_000;
/** Maximum number of entries in a batch, as at the server. */
const maxBatch = 100_000;
/** Maximum number of databases that one command names beside its own: each is a decision by all roles and locks. */
const maxNamed = 64;

/**
 * Databases that a command names beside its own, wherever it may name them, `*` standing for all of them. A command that is not known may name one in its
 * first field: `database.collection`, or at the database admin the name alone. Throws `invalid`.
 */
export function namedDatabases(named: NamedCommand, { command, sequences }: Pick<Request, "command" | "sequences">): ReadonlySet<string> {
  const { name } = named;
  const found = new Set<string>();
  const add = (database: string | undefined): void => {
    if (database !== undefined) found.add(database);
    if (found.size > maxNamed) throw new PlatformError("invalid", `a command names more than ${maxNamed} databases`);
  };
  if (dataCommands.has(name)) return found;
  if (name === "bulkWrite") {
    for (const namespace of bulkNamespaces({ command, sequences })) add(databaseOf(namespace));
    return found;
  }
  if (concernsAll(named, command)) add(allDatabases);
  if (mayNameDatabase(name)) addStated(named, command, add);
  for (const element of elementsOf(command, maxFields)) {
    if (/^mapReduce$/i.test(name) && element.key === "out" && isNested(element)) addDb(new FieldCursor(element.value, 0), add);
    if (name === "explain" && element.key === name && isNested(element)) for (const one of explained(named, element.value)) add(one);
  }
  walk(new FieldCursor(command, 0), { add, isAccount: isAboutAccounts(name), depth: 0 });
  return found;
}

/** What the command within `explain` names. */
function explained({ name: explain, database }: NamedCommand, command: Buffer): ReadonlySet<string> {
  const cursor = new FieldCursor(command, 0);
  const name = cursor.next() ? command.toString("utf8", cursor.name, cursor.nameEnd) : "";
  if (name === explain) throw new PlatformError("invalid", "explain explains itself");
  return namedDatabases({ name, database }, { command, sequences: [] });
}

/** Adds what the fields at the top state. For a command that is not known to stay in its own database. */
function addStated({ name, database }: NamedCommand, command: Buffer, add: Add): void {
  let isFirst = true;
  let hasDatabase = false;
  for (const element of elementsOf(command, maxFields)) {
    const text = nameIn(element);
    const isNamespace = isFirst ? text?.includes(".") === true || database === "admin" : databaseFields.has(element.key);
    if (isNamespace || (name === "renameCollection" && element.key === "to")) add(databaseOf(text));
    if (isFirst && isNested(element)) add(textOf(fieldOf(element.value, "$db")));
    hasDatabase ||= element.key === "db" && text !== undefined;
    isFirst = false;
  }
  // Without a stated database it reads all of them.
  if (name === "validateDBMetadata" && !hasDatabase) add(allDatabases);
}

type Add = (database: string | undefined) => void;

interface Walk {
  readonly add: Add;
  readonly isAccount: boolean;
  readonly depth: number;
}

/** Looks into all documents of a command, however many there are: names are read only where they can matter. */
function walk(fields: FieldCursor, { add, isAccount, depth }: Walk): void {
  if (depth > maxDepth) throw malformed(`it nests more than ${maxDepth} documents`);
  const { bytes } = fields;
  while (fields.next()) {
    if (isAccount && depth > 0) addAccountField(fields, add);
    if (!fields.isNested) continue;
    const isStage = bytes[fields.name] === dollar && stages.has(bytes.toString("latin1", fields.name, fields.nameEnd));
    if (isStage) addStage(new FieldCursor(bytes, fields.value), add);
    walk(new FieldCursor(bytes, fields.value), { add, isAccount, depth: depth + 1 });
  }
}

const dollar = 0x24;

/** The database of an account, a role or a right; some fields mean all of them. */
function addAccountField(fields: FieldCursor, add: Add): void {
  if (fields.isNamed("db")) add(fields.text);
  if (fields.isNamed("forAllDBs") || fields.isNamed("anyResource")) add(allDatabases);
}

/** `{db, coll}` at the stage itself, or as its `from` or `into`. */
function addStage(stage: FieldCursor, add: Add): void {
  while (stage.next()) {
    if (stage.isNamed("db")) add(stage.text);
    if (stage.isNamed("allChangesForCluster")) add(allDatabases);
    if (stage.isNested && (stage.isNamed("from") || stage.isNamed("into"))) addDb(new FieldCursor(stage.bytes, stage.value), add);
  }
}

function addDb(fields: FieldCursor, add: Add): void {
  while (fields.next()) if (fields.isNamed("db")) add(fields.text);
}

function* bulkNamespaces({ command, sequences }: Pick<Request, "command" | "sequences">): Generator<string | undefined> {
  for (const element of elementsOf(command)) {
    if (element.key !== "nsInfo" || element.type !== bsonType.array) continue;
    for (const entry of elementsOf(element.value, maxBatch)) yield isNested(entry) ? textOf(fieldOf(entry.value, "ns")) : undefined;
  }
  for (const { name, documents } of sequences) {
    if (name === "nsInfo") for (const document of documents) yield textOf(fieldOf(document, "ns"));
  }
}

/** The database of a namespace `database.collection`. */
function databaseOf(namespace: string | undefined): string | undefined {
  return namespace?.split(".", 1)[0];
}
