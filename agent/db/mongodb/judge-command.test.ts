import { Binary, type Document, deserialize, serialize } from "bson";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { type CommandVerdict, judgeCommand } from "./judge-command.ts";
import { opcode, opMsg, type Request, readRequest } from "./wire-message.ts";

const rules = { account: "alice", mayUse: (name: string) => name === "orders" };
const raw = (command: Buffer): Request => {
  const message = opMsg({ requestId: 1 }, command);
  return readRequest(message, message.length);
};
const request = (command: Document): Request => raw(Buffer.from(serialize({ $db: "orders", ...command }, { ignoreUndefined: true })));
/** With the command first, and the database behind it. */
const judged = (command: Document, database: string | undefined = "orders"): CommandVerdict =>
  judgeCommand(raw(Buffer.from(serialize({ ...command, ...(database !== undefined && { $db: database }) }))), rules);
const codeOf = (verdict: CommandVerdict): string => (verdict.kind === "refuse" ? verdict.error.code : verdict.kind);

describe("names of databases", () => {
  test.for<readonly [string, Document, string?]>([
    ["find", { find: "c" }],
    ["an aggregation within it", { aggregate: "c", pipeline: [{ $lookup: { from: "d" } }, { $out: "e" }, { $unionWith: "f" }] }],
    [
      "an aggregation that names it",
      { aggregate: "c", pipeline: [{ $lookup: { from: { db: "orders", coll: "d" } } }, { $merge: { into: { db: "orders" } } }] },
    ],
    ["data with such names", { insert: "c", documents: [{ $out: { db: "other" }, $db: "other" }] }],
    ["renameCollection within it", { renameCollection: "orders.a", to: "orders.b" }, "admin"],
    ["bulkWrite within it", { bulkWrite: 1, ops: [], nsInfo: [{ ns: "orders.a" }] }, "admin"],
    ["the end of a transaction", { commitTransaction: 1 }, "admin"],
    ["buildInfo", { buildInfo: 1 }, "admin"],
    ["ping on another", { ping: 1 }, "other"],
    ["the end of own cursors", { killCursors: "c", cursors: [7] }],
    ["the warnings of the start", { getLog: "startupWarnings" }, "admin"],
    ["the accounts of it", { usersInfo: { user: "bob", db: "orders" } }],
  ])("%s passes", ([, command, database]) => {
    expect(judged(command, database)).toEqual({ kind: "pass" });
  });

  const elsewhere = { db: "other", coll: "x" };
  test.for<readonly [string, Document, string?]>([
    ["find", { find: "c" }, "other"],
    ["a name that begins with the allowed one", { find: "c" }, "orders\0x"],
    ["another case of the name", { find: "c" }, "Orders"],
    ["$out", { aggregate: "c", pipeline: [{ $out: elsewhere }] }],
    ["$merge", { aggregate: "c", pipeline: [{ $merge: { into: elsewhere } }] }],
    ["$lookup", { aggregate: "c", pipeline: [{ $lookup: { from: elsewhere, as: "x" } }] }],
    ["$graphLookup", { aggregate: "c", pipeline: [{ $graphLookup: { from: elsewhere } }] }],
    ["$unionWith", { aggregate: "c", pipeline: [{ $unionWith: elsewhere }] }],
    ["$lookup in $facet", { aggregate: "c", pipeline: [{ $facet: { a: [{ $lookup: { from: elsewhere } }] } }] }],
    ["$lookup in the pipeline of another", { aggregate: "c", pipeline: [{ $lookup: { from: "d", pipeline: [{ $lookup: { from: elsewhere } }] } }] }],
    ["$out in explain", { explain: { aggregate: "c", pipeline: [{ $out: elsewhere }] } }],
    ["explain", { explain: { find: "c", $db: "other" } }],
    ["a view", { create: "v", viewOn: "c", pipeline: [{ $lookup: { from: elsewhere } }] }],
    ["mapReduce", { mapReduce: "c", out: { replace: "x", db: "other" } }],
    ["renameCollection to it", { renameCollection: "orders.a", to: "other.a" }, "admin"],
    ["renameCollection from it", { renameCollection: "other.a", to: "orders.a" }, "admin"],
    ["bulkWrite", { bulkWrite: 1, ops: [], nsInfo: [{ ns: "orders.a" }, { ns: "other.a" }] }, "admin"],
    ["the accounts of all", { usersInfo: { user: "bob", db: "other" } }],
    ["a role there", { createUser: "bob", pwd: "x", roles: [{ role: "read", db: "other" }] }],
    ["a right there", { createRole: "r", privileges: [{ resource: elsewhere, actions: [] }], roles: [] }],
    ["currentOp", { currentOp: 1 }, "admin"],
    ["an aggregation of the server", { aggregate: 1, pipeline: [{ $currentOp: {} }] }, "admin"],
    ["another log", { getLog: "global" }, "admin"],
    ["getCmdLineOpts", { getCmdLineOpts: 1 }, "admin"],
    ["applyOps", { applyOps: [] }],
    ["eval", { $eval: "1" }],
    ["a command between members", { internalRenameIfOptionsAndIndexesMatch: 1, from: "orders.a", to: "other.a" }],
    ["logout", { logout: 1 }],
  ])("%s is refused", ([, command, database]) => {
    expect(codeOf(judged(command, database))).toBe("denied");
  });

  test("a refusal names the database and the account", () => {
    const verdict = judged({ find: "c" }, "other");
    expect(verdict).toMatchObject({ error: { message: 'access to database name "other" denied for account alice' } });
  });

  test("a list of databases has the authorized ones only", () => {
    const verdict = judged({ listDatabases: 1, authorizedDatabases: false, nameOnly: true }, "admin");
    const command = verdict.kind === "replace" ? deserialize(verdict.command) : undefined;
    expect(command).toEqual({ listDatabases: 1, nameOnly: true, $db: "admin", authorizedDatabases: true });
    expect(judgeCommand(request({ listDatabases: 1, $db: "admin" }), { ...rules, mayUse: () => true }).kind).not.toBe("refuse");
  });
});

describe("a command that is not what it seems", () => {
  const twice = (name: string): Buffer => {
    const [one, other] = [serialize({ find: "c", [name]: "orders" }), serialize({ [name]: "other" })].map((bytes) =>
      Buffer.from(bytes).subarray(4, -1),
    );
    const body = Buffer.concat([one ?? Buffer.alloc(0), other ?? Buffer.alloc(0), Buffer.of(0)]);
    const length = Buffer.alloc(4);
    length.writeInt32LE(body.length + 4);
    return Buffer.concat([length, body]);
  };

  test.for(["$db", "filter"])("a field that stands twice is refused: %s", (name) => {
    expect(codeOf(judgeCommand(raw(twice(name)), rules))).toBe("invalid");
  });

  test("no command, no database, or one that is not a text is refused", () => {
    expect(
      ["{}", '{"find":"c"}', '{"find":"c","$db":7}'].map((text) => codeOf(judgeCommand(raw(Buffer.from(serialize(JSON.parse(text)))), rules))),
    ).toEqual(["invalid", "invalid", "invalid"]);
  });

  test("a sequence belongs to the commands that have it, and nothing follows other commands", () => {
    const rows = { name: "pipeline", documents: [] };
    expect(codeOf(judgeCommand({ ...request({ find: "c" }), sequences: [rows] }, rules))).toBe("invalid");
    expect(codeOf(judgeCommand({ ...request({ find: "c" }), isWhole: false }, rules))).toBe("invalid");
    const insert = raw(Buffer.from(serialize({ insert: "c", $db: "orders" })));
    expect(codeOf(judgeCommand({ ...insert, sequences: [{ ...rows, name: "documents" }] }, rules))).toBe("pass");
    expect(codeOf(judgeCommand({ ...insert, sequences: [rows] }, rules))).toBe("invalid");
  });

  test("bulkWrite is judged by the namespaces of its sequence", () => {
    const bulk = raw(Buffer.from(serialize({ bulkWrite: 1, $db: "admin" })));
    const named = (ns: string): Request => ({ ...bulk, sequences: [{ name: "nsInfo", documents: [Buffer.from(serialize({ ns }))] }] });
    expect([codeOf(judgeCommand(named("orders.a"), rules)), codeOf(judgeCommand(named("other.a"), rules))]).toEqual(["pass", "denied"]);
  });
});

describe("hello and login", () => {
  test("a hello loses what belongs to the agent", () => {
    const verdict = judged(
      {
        hello: 1,
        compression: ["zlib"],
        speculativeAuthenticate: { a: 1 },
        saslSupportedMechs: "x",
        client: {},
        internalClient: {},
        maxAwaitTimeMS: 9,
      },
      "admin",
    );
    expect(verdict.kind === "hello" && deserialize(verdict.command)).toEqual({ hello: 1, maxAwaitTimeMS: 9, $db: "admin" });
  });

  test.for<readonly [namespace: string, Document, string]>([
    ["admin.$cmd", { isMaster: 1 }, "hello"],
    ["orders.$cmd", { hello: 1 }, "hello"],
    ["orders.$cmd", { find: "c", $db: "orders" }, "unsupported"],
    ["secret.users", { hello: null }, "unsupported"],
    ["secret.users.$cmd", { hello: null }, "unsupported"],
    ["admin.$cmd.sys.inprog", { hello: null }, "unsupported"],
    [".$cmd", { hello: 1 }, "unsupported"],
    ["$cmd", { hello: 1 }, "unsupported"],
    ["", { hello: 1 }, "unsupported"],
  ])("an OP_QUERY is for hello only: %s with %o", ([namespace, command, outcome]) => {
    const legacy = { ...raw(Buffer.from(serialize(command))), opcode: opcode.query, namespace };
    expect(codeOf(judgeCommand(legacy, rules))).toBe(outcome);
  });

  test.for<readonly [string, Document, string]>([
    ["by certificate", { authenticate: 1, mechanism: "MONGODB-X509" }, "answer"],
    ["by certificate, as itself", { authenticate: 1, mechanism: "MONGODB-X509", user: "CN=alice" }, "answer"],
    ["by certificate, as another", { authenticate: 1, mechanism: "MONGODB-X509", user: "CN=bob" }, "unauthenticated"],
    ["by another mechanism", { authenticate: 1, mechanism: "MONGODB-CR", user: "alice" }, "unauthenticated"],
    ["by a password", { saslStart: 1, mechanism: "SCRAM-SHA-256", payload: new Binary(Buffer.from("n,,n=alice")) }, "unauthenticated"],
    ["by the rest of a password", { saslContinue: 1 }, "unauthenticated"],
  ])("a login %s", ([, command, outcome]) => {
    expect(codeOf(judged(command, "$external"))).toBe(outcome);
  });

  test("the answer to a password says what to do", () => {
    const verdict = judged({ saslStart: 1 }, "admin");
    expect(verdict).toMatchObject({ error: { hint: "leave user and password empty in the connection string" } });
  });
});

test("any bytes get a verdict, or are malformed", () => {
  const names = fc.constantFrom("aggregate", "bulkWrite", "find", "hello", "explain", "usersInfo", "authenticate");
  fc.assert(
    fc.property(names, fc.uint8Array({ maxLength: 60 }), (name, bytes) => {
      const body = Buffer.concat([Buffer.from(serialize({ [name]: 1, $db: "orders" })).subarray(4, -1), bytes, Buffer.of(0)]);
      const length = Buffer.alloc(4);
      length.writeInt32LE(body.length + 4);
      try {
        judgeCommand(raw(Buffer.concat([length, body])), rules);
      } catch (thrown) {
        expect(toPlatformError(thrown).code).toBe("invalid");
      }
    }),
  );
});
