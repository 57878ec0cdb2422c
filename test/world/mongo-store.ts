import { calculateObjectSize, type Document, Long } from "bson";

/** An answer that is not `ok`. */
export class MongoFailure extends Error {
  readonly code: number;
  readonly codeName: string;

  constructor(code: number, codeName: string, message: string) {
    super(message);
    this.code = code;
    this.codeName = codeName;
  }
}

/** Documents and bytes of one answer. */
const firstBatch = 101;
const maxBatch = 16 * 1024 * 1024;

/** Collections in memory, and the few commands on them that tests need. */
export class MongoStore {
  readonly #collections = new Map<string, Document[]>();
  readonly #cursors = new Map<number, { readonly ns: string; rest: Document[] }>();
  #cursor = 0;

  collection(namespace: string): readonly Document[] {
    return this.#collections.get(namespace) ?? [];
  }

  /** The answer to a command on data, with its documents put in. Throws MongoFailure. */
  run(name: string, database: string, command: Document): Document {
    const act = this.#acts[name];
    if (act === undefined) throw new MongoFailure(59, "CommandNotFound", `no such command: '${name}'`);
    return { ...act(command, database, `${database}.${String(command[name])}`), ok: 1 };
  }

  readonly #acts: Readonly<Record<string, (command: Document, database: string, namespace: string) => Document>> = {
    insert: ({ documents }, _database, namespace) => {
      const added = documents as Document[];
      this.#collections.set(namespace, [...this.collection(namespace), ...added]);
      return { n: added.length };
    },
    update: ({ updates }, _database, namespace) => {
      const hit = (updates as Document[]).flatMap((one) => matching(this.collection(namespace), one.q).map((row) => Object.assign(row, one.u.$set)));
      return { n: hit.length, nModified: hit.length };
    },
    delete: ({ deletes }, _database, namespace) => {
      const gone = new Set((deletes as Document[]).flatMap((one) => matching(this.collection(namespace), one.q)));
      this.#collections.set(
        namespace,
        this.collection(namespace).filter((row) => !gone.has(row)),
      );
      return { n: gone.size };
    },
    find: ({ filter, limit, batchSize }, _database, namespace) => {
      const rows = matching(this.collection(namespace), filter);
      return this.#page(namespace, limit > 0 ? rows.slice(0, limit) : rows, batchSize);
    },
    aggregate: ({ pipeline }, database, namespace) => this.#page(namespace, this.#aggregated(pipeline, database, namespace), undefined),
    getMore: (command) => this.#more(command),
    killCursors: ({ cursors }) => {
      for (const id of cursors) this.#cursors.delete(Number(id));
      return { cursorsKilled: cursors };
    },
    drop: (_command, _database, namespace) => {
      if (!this.#collections.delete(namespace)) throw new MongoFailure(26, "NamespaceNotFound", "ns not found");
      return {};
    },
    listCollections: (_command, database) => {
      const names = [...this.#collections.keys()].filter((one) => one.startsWith(`${database}.`));
      const rows = names.map((one) => ({ name: one.slice(database.length + 1), type: "collection" }));
      return this.#page(`${database}.$cmd.listCollections`, rows, undefined);
    },
    listDatabases: () => {
      const names = new Set([...this.#collections.keys()].map((one) => one.split(".")[0]));
      return { databases: [...names].map((name) => ({ name, sizeOnDisk: 1, empty: false })), totalSize: names.size };
    },
    createUser: () => ({}),
    commitTransaction: () => ({}),
    abortTransaction: () => ({}),
  };

  #aggregated(pipeline: Document[], database: string, namespace: string): Document[] {
    let rows = [...this.collection(namespace)];
    for (const stage of pipeline) {
      if (stage.$match !== undefined) rows = matching(rows, stage.$match);
      else if (stage.$limit !== undefined) rows = rows.slice(0, stage.$limit);
      // The stage by which drivers count.
      else if (stage.$group !== undefined) rows = rows.length === 0 ? [] : [{ _id: 1, n: rows.length }];
      else if (stage.$out !== undefined) {
        this.#collections.set(typeof stage.$out === "string" ? `${database}.${stage.$out}` : `${stage.$out.db}.${stage.$out.coll}`, rows);
        rows = [];
      } else throw new MongoFailure(40_324, "Location40324", `Unrecognized pipeline stage name: '${Object.keys(stage)[0]}'`);
    }
    return rows;
  }

  #page(ns: string, rows: Document[], batchSize: number | undefined): Document {
    const size = batchOf(rows, batchSize ?? firstBatch);
    const rest = rows.slice(size);
    if (rest.length === 0) return { cursor: { id: Long.ZERO, ns, firstBatch: rows } };
    this.#cursor += 1;
    this.#cursors.set(this.#cursor, { ns, rest });
    return { cursor: { id: Long.fromNumber(this.#cursor), ns, firstBatch: rows.slice(0, size) } };
  }

  #more({ getMore, batchSize }: Document): Document {
    const id = Number(getMore);
    const cursor = this.#cursors.get(id);
    if (cursor === undefined) throw new MongoFailure(43, "CursorNotFound", `cursor id ${id} not found`);
    const nextBatch = cursor.rest.splice(0, batchOf(cursor.rest, batchSize ?? cursor.rest.length));
    const isDone = cursor.rest.length === 0;
    if (isDone) this.#cursors.delete(id);
    return { cursor: { id: isDone ? Long.ZERO : Long.fromNumber(id), ns: cursor.ns, nextBatch } };
  }
}

/** How many rows fit into one answer. */
function batchOf(rows: readonly Document[], wanted: number): number {
  let [count, bytes] = [0, 0];
  for (const row of rows.slice(0, wanted)) {
    bytes += calculateObjectSize(row);
    if (count > 0 && bytes > maxBatch) break;
    count += 1;
  }
  return count;
}

/** Rows whose fields equal those of the filter. */
function matching(rows: readonly Document[], filter: Document = {}): Document[] {
  const same = (one: unknown, other: unknown): boolean => String(one) === String(other);
  return rows.filter((row) => Object.entries(filter).every(([key, value]) => same(row[key], value)));
}
