import { type Command, wordAt } from "./command.ts";

export const mask = "***";

/**
 * Indexes of the arguments that can hold a secret. Doubtful ones count: of AUTH and HELLO everything but the account `user` and the options, as a
 * mistyped command can have the password anywhere. Pure.
 */
export function secretPlaces(command: Command, user: string): ReadonlySet<number> {
  const found = new Set<number>();
  mark(command, { user, begin: 0, found });
  return found;
}

interface Marking {
  readonly user: string;
  /** Where the command begins in its arguments: another command can hold it. */
  readonly begin: number;
  readonly found: Set<number>;
}

function mark(command: Command, marking: Marking): void {
  const { begin } = marking;
  const name = wordAt(command, begin);
  const sub = wordAt(command, begin + 1);
  if (name === "auth" || name === "hello") markLogin(command, marking, name === "hello");
  else if (name === "migrate") markMigrate(command, marking);
  else if (name === "command" && sub.startsWith("getkeys")) mark(command, { ...marking, begin: begin + 2 });
  else if (name === "acl" && sub === "dryrun") mark(command, { ...marking, begin: begin + 3 });
  else if (name === "acl") markRules(command, marking);
  else if (name === "config" || name === "sentinel") markSettings(command, marking);
}

/** AUTH [user] password; HELLO [version [AUTH user password] [SETNAME name]] */
function markLogin(command: Command, { user, begin, found }: Marking, isHello: boolean): void {
  const isAccount = (index: number): boolean => command.words[index]?.bytes.toString("utf8") === user;
  for (let index = begin + 1; index < command.words.length; index += 1) {
    const word = wordAt(command, index);
    if (isHello && index === begin + 1 && /^\d{1,3}$/.test(word)) continue;
    if (isHello && word === "setname") index += 1;
    else if (isHello && word === "auth") {
      if (!isAccount(index + 1)) found.add(index + 1);
      found.add(index + 2);
      index += 2;
    } else if (isHello || index !== begin + 1 || command.count !== begin + 3 || !isAccount(index)) found.add(index);
  }
}

/** MIGRATE host port key database timeout [COPY] [REPLACE] [AUTH password] [AUTH2 user password] [KEYS key …] */
function markMigrate(command: Command, { begin, found }: Marking): void {
  for (let index = begin + 1; index < command.words.length; index += 1) {
    const word = wordAt(command, index);
    if (word === "keys" && index >= begin + 6) return;
    if (word === "auth") found.add(index + 1);
    if (word === "auth2") found.add(index + 1).add(index + 2);
  }
}

/** CONFIG SET name value …: the value behind a name that speaks of a secret. */
function markSettings(command: Command, { begin, found }: Marking): void {
  for (let index = begin + 2; index < command.words.length; index += 1) {
    const word = wordAt(command, index);
    if (!/pass|auth|secret|token/.test(word) || word.startsWith("tls-auth-")) continue;
    if (/^[\w.*?[\]-]+$/.test(word)) found.add(index + 1);
    else found.add(index);
  }
}

/** ACL SETUSER user rule …: `>password`, `<password`, `#hash`, `!hash` */
function markRules(command: Command, { begin, found }: Marking): void {
  for (let index = begin + 2; index < command.words.length; index += 1)
    if (/(?:^|[\s(])[><#!]/.test(command.words[index]?.bytes.toString("latin1") ?? "")) found.add(index);
}
