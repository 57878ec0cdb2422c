/** A command by its name and its own database. */
export interface NamedCommand {
  readonly name: string;
  readonly database: string;
}

/** Commands that drivers and shells run on any database, mostly admin; they reach no data. */
export const harmless: ReadonlySet<string> = new Set([
  "ping",
  "buildInfo",
  "buildinfo",
  "getParameter",
  "connectionStatus",
  "whatsmyuri",
  "startSession",
  "endSessions",
  "refreshSessions",
  "killSessions",
  "commitTransaction",
  "abortTransaction",
  "listDatabases",
  "listCommands",
]);

/** Commands that reach collections in ways that rules cannot follow, or copy whole databases. */
const reachesAll = new Set(["applyOps", "doTxn", "eval", "$eval", "copydb", "copydbgetnonce", "copydbsaslstart", "clone", "cloneCollection"]);
/** Commands between members of a cluster. */
const membersOwn = /^(_|internal|cluster[A-Z]|mapreduce\.)/;

/** Whether a command is refused with any database. */
export function isNotOffered(name: string): boolean {
  return reachesAll.has(name) || membersOwn.test(name);
}

/** Commands without pipelines: their documents are the users' own data. */
export const dataCommands: ReadonlySet<string> = new Set([
  "insert",
  "update",
  "delete",
  "find",
  "findAndModify",
  "findandmodify",
  "count",
  "distinct",
  "getMore",
  "killCursors",
]);

/** Commands about accounts: each `db` in them is the database of an account, a role or a right. */
const accountCommands = /^(usersInfo|rolesInfo|(create|update)(User|Role)|(grant|revoke)(Roles|Privileges)(To|From)(User|Role))$/;

export function isAboutAccounts(name: string): boolean {
  return accountCommands.test(name);
}

/** Commands whose first field is a collection of their own database, with dots or without (`fs.files`), or something of it: an index, an account. */
const ofOwnDatabase = [
  "aggregate",
  "analyze",
  "checkMetadataConsistency",
  "cleanupStructuredEncryptionData",
  "cloneCollectionAsCapped",
  "collMod",
  "collStats",
  "collstats",
  "compact",
  "compactStructuredEncryptionData",
  "convertToCapped",
  "create",
  "createIndexes",
  "createSearchIndexes",
  "deleteIndexes",
  "drop",
  "dropIndexes",
  "dropRole",
  "dropSearchIndex",
  "dropUser",
  "filemd5",
  "geoNear",
  "geoSearch",
  "group",
  "listIndexes",
  "listSearchIndexes",
  "mapReduce",
  "mapreduce",
  "parallelCollectionScan",
  "planCacheClear",
  "planCacheClearFilters",
  "planCacheListFilters",
  "planCacheListPlans",
  "planCacheListQueryShapes",
  "planCacheSetFilter",
  "reIndex",
  "repairCursor",
  "setIndexCommitQuorum",
  "sqlGetSchema",
  "sqlSetSchema",
  "touch",
  "updateSearchIndex",
  "validate",
];
/** Commands whose first field is the name of something else: a parameter, a shard, a member, a version. */
const ofServer = [
  "addShard",
  "addShardToZone",
  "appendOplogNote",
  "currentOp",
  "getClusterParameter",
  "getLog",
  "logApplicationMessage",
  "logRotate",
  "removeShard",
  "removeShardFromZone",
  "replSetSyncFrom",
  "setFeatureCompatibilityVersion",
];
const namesNoDatabase = new Set([...harmless, ...ofOwnDatabase, ...ofServer]);

/**
 * Whether the first field of a command may name another database: `dataSize: "other.users"`, `enableSharding: "other"`. That holds for each command
 * that is not listed here: servers gain new ones.
 */
export function mayNameDatabase(name: string): boolean {
  return !(namesNoDatabase.has(name) || isAboutAccounts(name));
}
