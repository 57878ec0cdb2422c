import { BSONSymbol, type Document, serialize } from "bson";
import { expect, test } from "vitest";
import { type CommandVerdict, judgeCommand } from "./judge-command.ts";
import { opMsg, type Request, readRequest } from "./wire-message.ts";

const rules = { account: "alice", mayUse: (name: string) => name === "orders" };
const withAdmin = { ...rules, mayUse: (name: string) => name === "orders" || name === "admin" };
const request = (command: Document, database: string): Request => {
  const message = opMsg({ requestId: 1 }, Buffer.from(serialize({ ...command, $db: database })));
  return readRequest(message, message.length);
};
const judged = (command: Document): CommandVerdict => judgeCommand(request(command, "orders"), rules);
const judgedAtAdmin = (command: Document): CommandVerdict => judgeCommand(request(command, "admin"), withAdmin);
const codeOf = (verdict: CommandVerdict): string => (verdict.kind === "refuse" ? verdict.error.code : verdict.kind);
const named = (name: string): [string, Document] => [name, { [name]: "fs.files", cursor: {} }];

const elsewhere = { db: "secret", coll: "x" };

test.for<readonly [string, Document]>([
  ["dataSize", { dataSize: "secret.users", keyPattern: { ssn: 1 } }],
  ["its alias", { datasize: "secret.users" }],
  ["one in BSON's old type of text, which servers accept", { dataSize: new BSONSymbol("secret.users") }],
  ["splitVector", { splitVector: "secret.users", keyPattern: { ssn: 1 } }],
  ["checkShardingIndex", { checkShardingIndex: "secret.users" }],
  ["mergeChunks", { mergeChunks: "secret.users" }],
  ["a command that servers will have one day", { countFaster: "secret.users" }],
  ["the same with its namespace in a field", { countFaster: 1, ns: "secret.users" }],
  ["a namespace without a database", { dataSize: ".users" }],
  ["validateDBMetadata", { validateDBMetadata: 1, db: "secret" }],
  ["validateDBMetadata of none, which means all", { validateDBMetadata: 1, db: null }],
  ["validateDBMetadata of all", { validateDBMetadata: 1 }],
  ["explain of bulkWrite", { explain: { bulkWrite: 1, ops: [], nsInfo: [{ ns: "secret.users" }] } }],
  ["explain of mapReduce", { explain: { mapReduce: "c", out: { replace: "x", db: "secret" } } }],
  ["explain of a command that names it", { explain: { dataSize: "secret.users" } }],
  ["$out as servers once called it", { aggregate: "c", pipeline: [{ $internalOutToDifferentDB: elsewhere }] }],
  ["the accounts of every database", { usersInfo: { forAllDBs: true } }],
  ["a right to everything", { createRole: "r", privileges: [{ resource: { anyResource: true }, actions: ["find"] }], roles: [] }],
  ["a router's own command", { clusterAggregate: "c", pipeline: [], cursor: {} }],
  ["a shard's own command", { _shardsvrMovePrimary: "secret", toPrimaryShardId: "s" }],
  ["a configuration server's own command", { _configsvrMoveRange: "secret.users" }],
  ["the steps of mapReduce between members", { "mapreduce.shardedfinish": {} }],
])("%s is refused", ([, command]) => {
  expect(codeOf(judged(command))).toBe("denied");
});

test.for([
  ...["shardCollection", "reshardCollection", "unshardCollection", "refineCollectionShardKey", "moveCollection", "moveChunk", "moveRange"],
  ...["split", "splitChunk", "mergeChunks", "mergeAllChunksOnShard", "clearJumboChunk", "cleanupOrphaned", "setAllowMigrations", "getShardVersion"],
  ...["analyzeShardKey", "configureQueryAnalyzer", "configureCollectionBalancing", "balancerCollectionStatus", "updateZoneKeyRange"],
  ...["abortReshardCollection", "commitReshardCollection", "cleanupReshardCollection", "abortMoveCollection", "flushRouterConfig"],
])("at admin, %s is for allowed databases", (name) => {
  expect([`secret.users`, `orders.users`].map((namespace) => codeOf(judgedAtAdmin({ [name]: namespace, key: { a: 1 }, to: "shard-2" })))).toEqual([
    "denied",
    "pass",
  ]);
});

test.for(["movePrimary", "changePrimary", "enableSharding", "flushRouterConfig"])(
  "at admin, %s is for allowed databases, which it names alone",
  (name) => {
    expect(["secret", "orders"].map((database) => codeOf(judgedAtAdmin({ [name]: database, to: "shard-2" })))).toEqual(["denied", "pass"]);
  },
);

test.for<readonly [string, Document]>([
  ["the changes of all databases", { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: {} }],
  ["bulkWrite in explain", { explain: { bulkWrite: 1, ops: [], nsInfo: [{ ns: "secret.users" }] } }],
  ...[
    "$currentOp",
    "$listCatalog",
    "$listClusterCatalog",
    "$listLocalSessions",
    "$listSampledQueries",
    "$queryStats",
    "$shardedDataDistribution",
    "$newOne",
  ].map((stage): [string, Document] => [`${stage} without a collection`, { aggregate: 1, pipeline: [{ [stage]: {} }, { $limit: 1 }], cursor: {} }]),
  ["$listSessions", { aggregate: "system.sessions", pipeline: [{ $listSessions: {} }], cursor: {} }],
  ["$listSessions of all users", { aggregate: "system.sessions", pipeline: [{ $listSessions: { allUsers: true } }], cursor: {} }],
  ["$listCatalog in explain", { explain: { aggregate: 1, pipeline: [{ $listCatalog: {} }], cursor: {} } }],
  ["$listCatalog of the collection that stands for none", { aggregate: "$cmd.aggregate", pipeline: [{ $listCatalog: {} }], cursor: {} }],
  ["the operations of all", { currentOp: 1, $all: true }],
  ["the operations of a collection", { currentOp: 1, ns: "orders.a" }],
  ["the use of all collections", { top: 1 }],
  ["the locks of all collections", { lockInfo: 1 }],
  ["an operation's end, of any user", { killOp: 1, op: 7 }],
  ["an operation's end on a shard", { killOp: 1, op: "rs0:7" }],
  ["the ends of all sessions", { killAllSessions: [] }],
  ["the ends of an account's sessions", { killAllSessions: [{ user: "bob", db: "admin" }] }],
  ["the ends of sessions by a pattern", { killAllSessionsByPattern: [{ users: [{ user: "bob", db: "admin" }] }] }],
  ["a log with slow commands", { getLog: "global" }],
  ["settings of another database's queries", { setQuerySettings: { find: "users", $db: "secret" }, settings: {} }],
])("at admin, %s are refused", ([, command]) => {
  expect(codeOf(judgedAtAdmin(command))).toBe("denied");
});

test.for<readonly [string, Document]>([
  ["a version", { setFeatureCompatibilityVersion: "7.0", confirm: true }],
  ["a shard", { addShard: "rs0/a.example:27018,b.example:27018" }],
  ["a member", { replSetSyncFrom: "a.example:27017" }],
  ["a parameter", { getClusterParameter: "changeStreamOptions" }],
  ["a log", { getLog: "startupWarnings" }],
  ["the own changes", { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} }],
  ["the catalogue of a collection", { aggregate: "system.version", pipeline: [{ $listCatalog: {} }], cursor: {} }],
  ["documents of the command", { aggregate: 1, pipeline: [{ $documents: [{ a: 1 }] }], cursor: {} }],
  ["no stage", { aggregate: 1, pipeline: [], cursor: {} }],
  ["the end of own cursors", { killCursors: "c", cursors: [7] }],
  ["a reconfiguration", { replSetReconfig: { _id: "rs0", version: 2 } }],
])("at admin, %s is not taken for a database", ([, command]) => {
  expect(judgedAtAdmin(command)).toEqual({ kind: "pass" });
});

test.for<readonly [string, Document]>([
  ...["aggregate", "collMod", "collStats", "compact", "convertToCapped", "create", "createIndexes", "createSearchIndexes", "delete", "distinct"].map(
    named,
  ),
  ...["drop", "dropIndexes", "find", "insert", "listIndexes", "mapReduce", "planCacheClear", "reIndex", "update", "validate"].map(named),
  ["an account with a dot", { createUser: "bob.smith", pwd: "x", roles: [] }],
  ["the account", { usersInfo: "bob.smith" }],
  ["statistics", { dbStats: 1, scale: 1 }],
  ["its size", { dataSize: "orders.users" }],
  ["explain", { explain: { find: "fs.files", filter: {} }, verbosity: "executionStats" }],
])("collections, indexes and accounts with a dot are of the own database: %s", ([, command]) => {
  expect(judged(command)).toEqual({ kind: "pass" });
});

test.for<readonly [stage: string, code: string]>([
  ["$listLocalSessions", "denied"],
  ["$newOne", "denied"],
  ["$listClusterCatalog", "pass"],
  ["$changeStream", "pass"],
])("at another database, %s without a collection: %s", ([stage, code]) => {
  expect(codeOf(judged({ aggregate: 1, pipeline: [{ [stage]: {} }], cursor: {} }))).toBe(code);
});

test("what reports on all databases is for those who may use all, and the refusal states that", () => {
  const command = request({ aggregate: 1, pipeline: [{ $listCatalog: {} }], cursor: {} }, "admin");
  expect(judgeCommand(command, { ...rules, mayUse: () => true })).toEqual({ kind: "pass" });
  expect(judgeCommand(command, withAdmin)).toMatchObject({
    error: { message: "access to all databases denied for account alice", hint: 'no role allows all of them in db_names ("*")' },
  });
});

test("a command names 64 databases at most", () => {
  const of = (count: number): Document => ({
    aggregate: "c",
    pipeline: Array.from({ length: count }, (_, index) => ({ $unionWith: { db: `d${index}`, coll: "x" } })),
    cursor: {},
  });
  const all = { ...rules, mayUse: () => true };
  expect(judgeCommand(request(of(64), "orders"), all)).toEqual({ kind: "pass" });
  expect(() => judgeCommand(request(of(65), "orders"), all)).toThrow(expect.objectContaining({ code: "invalid" }));
});
