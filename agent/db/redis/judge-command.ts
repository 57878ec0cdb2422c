import { type Command, isText, isWhole, textAt, wordAt } from "./command.ts";
import { encodeCommand } from "./resp.ts";

/** The rules of one session, once it has logged in at the server. */
export interface CommandRules {
  /** The account as which the session has logged in. */
  readonly user: string;
  /** Whether the certificate was enough, so that the server need not see a password. */
  readonly isCertified: boolean;
  /** Whether the user may use a logical database; `*`: all of them. Undefined: there is no restriction. */
  readonly mayUse?: ((name: string) => boolean) | undefined;
  /** Whether the members of a cluster have local ports at the client. */
  readonly reachesMembers?: boolean;
}

/** `refuse`: the reason. `replace`: what goes on in its place. "ok": the server need not see it, and the client is answered OK. */
export type Judgement = "more" | "pass" | "ok" | { readonly refuse: string } | { readonly replace: Buffer };

type Rule = (command: Command, rules: CommandRules) => Judgement;

/**
 * Decides about a command by its first arguments; "more": it needs the next one. Everything passes, for the server's own ACL to decide, except what
 * would leave the session's account, its databases or this protocol. Pure.
 */
export function judgeCommand(command: Command, rules: CommandRules): Judgement {
  const rule = table.get(wordAt(command, 0));
  return rule === undefined ? "pass" : rule(command, rules);
}

const refuseReplication: Rule = (command) => ({ refuse: `${wordAt(command, 0).toUpperCase()} is refused: a replica would copy all data` });

const table = new Map<string, Rule>([
  ["auth", whole(judgeAuth)],
  ["hello", whole(judgeHello)],
  ["reset", () => ({ refuse: "RESET is refused: it would end the login; connect again instead" })],
  ["sync", refuseReplication],
  ["psync", refuseReplication],
  ["replconf", refuseReplication],
  ["cluster", judgeCluster],
  ["select", databases(1)],
  ["swapdb", databases(1, 2)],
  ["move", databases(2)],
  ["migrate", databases(4)],
  ["copy", whole(judgeCopy)],
  [
    "flushall",
    (_command, { mayUse }) => (mayUse === undefined || mayUse("*") ? "pass" : { refuse: "FLUSHALL is refused: it empties every database" }),
  ],
]);

function whole(rule: Rule): Rule {
  return (command, rules) => (isWhole(command) ? rule(command, rules) : "more");
}

/** `AUTH password` is for the account "default". */
function judgeAuth(command: Command, { user, isCertified }: CommandRules): Judgement {
  if (command.count < 2 || command.count > 3) return "pass";
  if (command.count === 2 ? user !== "default" : !isText(command, 1, user)) return { refuse: otherAccount("AUTH", user) };
  return isCertified ? "ok" : "pass";
}

/** With the certificate's login, HELLO goes on without its AUTH. */
function judgeHello(command: Command, { user, isCertified }: CommandRules): Judgement {
  const places = helloAccounts(command);
  if (places.some((place) => !isText(command, place, user))) return { refuse: otherAccount("HELLO", user) };
  if (!isCertified || places.length === 0) return "pass";
  const rest = command.words.filter((_word, index) => places.every((place) => Math.abs(index - place) > 1));
  if (rest.some(({ bytes, length }) => length > bytes.length)) return { refuse: "HELLO is refused: an argument is too long" };
  return { replace: encodeCommand(rest.map(({ bytes }) => bytes)) };
}

/** Places of the accounts in HELLO [version [AUTH user password] [SETNAME name]], as the servers read it; the last one counts. */
export function helloAccounts(command: Command): readonly number[] {
  const places: number[] = [];
  for (let index = 2; index < command.words.length; index += 1) {
    const option = wordAt(command, index);
    const others = command.count - 1 - index;
    if (option === "auth" && others >= 2) places.push(index + 1);
    if (option === "auth" && others >= 2) index += 2;
    else if (option === "setname" && others >= 1) index += 1;
  }
  return places;
}

function otherAccount(name: string, user: string): string {
  return `${name} is refused: this session is for the account ${JSON.stringify(user)} only`;
}

const clusterMaps = new Set(["slots", "shards", "nodes"]);

function judgeCluster(command: Command, { reachesMembers }: CommandRules): Judgement {
  if (command.count < 2) return "pass";
  if (command.words.length < 2) return "more";
  const word = wordAt(command, 1);
  if (word === "syncslots") return { refuse: "CLUSTER SYNCSLOTS is refused: a replica would copy all data" };
  return clusterMaps.has(word) && reachesMembers !== true ? { refuse: noCluster } : "pass";
}

/** Clients would connect to the members directly, which they cannot reach. */
export const noCluster =
  "the members of a cluster cannot be reached from here: use tsh proxy db or tsh db connect, with mode=cluster in the uri of the database; or a client without cluster mode, with each member as a database of its own";
/** Where the agent could not recognize the reply. */
export const noMapNow =
  "the members of a cluster are not listed within a transaction, nor after SUBSCRIBE, MONITOR or CLIENT REPLY: use another connection";

/**
 * A rule for arguments that name logical databases. A script can select any of them, and MONITOR shows all: a server whose db_names must hold refuses
 * these to the account by its ACL.
 */
function databases(...places: readonly number[]): Rule {
  const last = Math.max(...places);
  return (command, { mayUse }) => {
    if (mayUse === undefined || command.count <= last) return "pass";
    if (command.words.length <= last) return "more";
    const name = places.map((place) => textAt(command, place) ?? "").find((one) => !mayUse(one));
    return name === undefined ? "pass" : { refuse: otherDatabase(name) };
  };
}

/** COPY source destination [DB number] [REPLACE] */
function judgeCopy(command: Command, { mayUse }: CommandRules): Judgement {
  if (mayUse === undefined) return "pass";
  for (let index = 3; index < command.count - 1; index += 1) {
    if (wordAt(command, index) !== "db") continue;
    const name = textAt(command, index + 1) ?? "";
    if (!mayUse(name)) return { refuse: otherDatabase(name) };
  }
  return "pass";
}

function otherDatabase(name: string): string {
  return `access to database ${JSON.stringify(name.slice(0, 32))} denied: no role allows it in db_names`;
}
