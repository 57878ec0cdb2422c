import { elementsOf, fieldOf, isNested } from "./bson-elements.ts";
import { bsonType } from "./bson-fields.ts";

/** What the connections of one user to one database have used. */
export interface UserSessions {
  /** A command of the user goes to the server; its `lsid` is the user's from now on. */
  note(command: Buffer): void;
  /** Whether each id that a `killSessions` states is the user's, and there is at least one: an empty list means those of the whole account. */
  areOwn(command: Buffer): boolean;
  /** The connection has ended. */
  close(): void;
}

/** Maximum number of ids that are remembered of a user at a database: the oldest is forgotten first. */
const maxIds = 4_096;
/** Maximum ids in one command, as drivers send them. */
const maxStated = 10_000;

interface Share {
  connections: number;
  readonly ids: Set<string>;
}

/**
 * Ids of the logical sessions that the users of this process use. Servers know them by the account, which several users can share. A user's connections share
 * theirs: a client ends the session of one connection over another one.
 */
export class UsedSessions {
  readonly #shares = new Map<string, Share>();

  /** A connection of this user to this database. Close it. */
  open(user: string, database: string): UserSessions {
    const key = JSON.stringify([user, database]);
    const share = this.#shares.get(key) ?? { connections: 0, ids: new Set() };
    share.connections += 1;
    this.#shares.set(key, share);
    return {
      note: (command) => note(share.ids, command),
      areOwn: (command) => areOwn(share.ids, command),
      close: () => {
        share.connections -= 1;
        if (share.connections === 0) this.#shares.delete(key);
      },
    };
  }
}

function note(ids: Set<string>, command: Buffer): void {
  const lsid = fieldOf(command, "lsid");
  const id = lsid !== undefined && isNested(lsid) ? binaryText(fieldOf(lsid.value, "id")) : undefined;
  if (id === undefined) return;
  ids.delete(id);
  ids.add(id);
  const [oldest] = ids;
  if (ids.size > maxIds && oldest !== undefined) ids.delete(oldest);
}

function areOwn(ids: ReadonlySet<string>, command: Buffer): boolean {
  const stated = fieldOf(command, "killSessions");
  if (stated?.type !== bsonType.array) return false;
  let count = 0;
  for (const entry of elementsOf(stated.value)) {
    count += 1;
    if (count > maxStated || entry.type !== bsonType.document) return false;
    // A `uid` beside it would name another account.
    const [id, other] = elementsOf(entry.value);
    const text = id?.key === "id" && other === undefined ? binaryText(id) : undefined;
    if (text === undefined || !ids.has(text)) return false;
  }
  return count > 0;
}

/** A UUID with its subtype, hexadecimal; undefined: something else. */
function binaryText(element: { readonly type: number; readonly value: Buffer } | undefined): string | undefined {
  const isUuid = element?.type === bsonType.binary && element.value.length === 21;
  return isUuid ? element.value.toString("hex", 4) : undefined;
}
