import { PlatformError } from "../../../core/errors/platform-error.ts";
import { elementsOf, fieldOf, isNested, maxDepth, textOf } from "./bson-elements.ts";
import { bsonType, FieldCursor, malformed } from "./bson-fields.ts";
import type { Request } from "./wire-message.ts";

/** Stages of an aggregation that read or write another collection, which may be one of another database. */
const stages = new Set(["$lookup", "$graphLookup", "$unionWith", "$out", "$merge"]);
/** Commands without pipelines: their documents are the users' own data. */
const dataCommands = new Set(["insert", "update", "delete", "find", "findAndModify", "findandmodify", "count", "distinct", "getMore", "killCursors"]);
/** Commands about accounts: each `db` in them is the database of an account, a role or a right. */
const accountCommands = /^(usersInfo|rolesInfo|(create|update)(User|Role)|(grant|revoke)(Roles|Privileges)(To|From)(User|Role))$/;

/** Maximum number of entries in a batch, as at the server, and of databases that one command names. */
const maxBatch = 100_000;
const maxNamed = 1_000;

/** Databases that a command names beside its own, wherever it may name them. Throws `invalid`. */
export function namedDatabases(name: string, { command, sequences }: Pick<Request, "command" | "sequences">): ReadonlySet<string> {
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
  for (const element of elementsOf(command)) {
    if (name === "renameCollection" && (element.key === name || element.key === "to")) add(databaseOf(textOf(element)));
    if (/^mapReduce$/i.test(name) && element.key === "out" && isNested(element)) addDb(new FieldCursor(element.value, 0), add);
    if (name === "explain" && element.key === name && isNested(element)) add(textOf(fieldOf(element.value, "$db")));
  }
  walk(new FieldCursor(command, 0), { add, isAccount: accountCommands.test(name), depth: 0 });
  return found;
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
    if (isAccount && depth > 0 && fields.isNamed("db")) add(fields.text);
    if (!fields.isNested) continue;
    const isStage = bytes[fields.name] === dollar && stages.has(bytes.toString("latin1", fields.name, fields.nameEnd));
    if (isStage) addStage(new FieldCursor(bytes, fields.value), add);
    walk(new FieldCursor(bytes, fields.value), { add, isAccount, depth: depth + 1 });
  }
}

const dollar = 0x24;

/** `{db, coll}` at the stage itself, or as its `from` or `into`. */
function addStage(stage: FieldCursor, add: Add): void {
  while (stage.next()) {
    if (stage.isNamed("db")) add(stage.text);
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
