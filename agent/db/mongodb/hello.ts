import { ObjectId, serialize } from "bson";
import { editedDocument, elementsOf, fieldOf, isTrue, textOf } from "./bson-elements.ts";
import { bsonType } from "./bson-fields.ts";
import { maxMessage } from "./wire-message.ts";

/** Names of the command by which a client learns about a server, again and again while it is connected. */
export function isHello(name: string): boolean {
  return name === "hello" || name === "isMaster" || name === "ismaster";
}

/**
 * Fields of a client's hello that the server must not see: compression, so that both legs speak plainly; the login, as the agent has its own; the client's
 * description, which a server takes only once and which the agent's own hello has brought; and what identifies a member of the cluster.
 */
const agentsOwn = new Set(["compression", "speculativeAuthenticate", "saslSupportedMechs", "client", "internalClient"]);
/** Fields that make a server wait before it answers. */
const waits = new Set(["topologyVersion", "maxAwaitTimeMS"]);

/** A client's hello as the server gets it once the session runs. Throws `invalid`. */
export function serverHello(command: Buffer): Buffer {
  return editedDocument(command, (key) => !agentsOwn.has(key));
}

/** The agent's own hello in the client's name: the client's first one with its description, answered at once. Throws `invalid`. */
export function firstHello(command: Buffer): Buffer {
  return editedDocument(command, (key) => key === "client" || !(agentsOwn.has(key) || waits.has(key)));
}

/** The client program as it names itself, for the audit: `mongosh 2.12.0 (reports)`. Throws `invalid`. */
export function userAgentOf(command: Buffer): string | undefined {
  const [name, version, application] = [
    ["driver", "name"],
    ["driver", "version"],
    ["application", "name"],
  ].map((path) => textOf(fieldOf(command, "client", ...path)));
  const driver = [name, version].filter((part) => part !== undefined).join(" ");
  const whole = application === undefined ? driver : `${driver} (${application})`.trim();
  return whole === "" ? undefined : whole.slice(0, 256);
}

/** What a member says about itself and its replica set. */
export interface MemberFacts {
  readonly ok: boolean;
  /** Undefined: it belongs to no replica set. */
  readonly setName: string | undefined;
  readonly isPrimary: boolean;
  readonly isSecondary: boolean;
  readonly primary: string | undefined;
  readonly hosts: readonly string[];
}

/** Maximum members of a replica set. */
export const maxMembers = 50;

/** Reads a server's answer to hello. Throws `invalid`. */
export function memberFacts(answer: Buffer): MemberFacts {
  const fields = new Map([...elementsOf(answer)].map((element) => [element.key, element]));
  const hosts = fields.get("hosts");
  const names = hosts?.type === bsonType.array ? [...elementsOf(hosts.value)] : [];
  return {
    ok: isTrue(fields.get("ok")),
    setName: textOf(fields.get("setName")),
    isPrimary: isTrue(fields.get("isWritablePrimary")) || isTrue(fields.get("ismaster")),
    isSecondary: isTrue(fields.get("secondary")),
    primary: textOf(fields.get("primary")),
    hosts: names
      .slice(0, maxMembers)
      .map(textOf)
      .filter((host) => host !== undefined),
  };
}

/** Fields that describe the other members, or how to log in. */
const neverShown = new Set([
  "compression",
  "saslSupportedMechs",
  "speculativeAuthenticate",
  "serviceId",
  "hosts",
  "passives",
  "arbiters",
  "me",
  "primary",
]);
/** Fields that make a member of a server. */
const ofReplicaSet = new Set([...neverShown, "setName", "setVersion", "electionId", "secondary", "tags", "lastWrite", "isreplicaset"]);

/**
 * A server's answer to hello as the client gets it. A replica set has one member for the client: the address that it has dialled. When that is not
 * known, a primary looks like a server outside any set: a driver leaves a set in which the address that it has dialled is missing. Throws `invalid`.
 */
export function clientAnswer(answer: Buffer, address: string | undefined): Buffer {
  const { setName, isPrimary } = memberFacts(answer);
  const isMember = setName !== undefined;
  if (isMember && address !== undefined)
    return editedDocument(answer, (key) => !neverShown.has(key), { hosts: [address], me: address, ...(isPrimary && { primary: address }) });
  const hidden = isMember && isPrimary ? ofReplicaSet : neverShown;
  return editedDocument(answer, (key) => !hidden.has(key));
}

/** What identifies a replica set: a driver treats a primary without it, or with an older one, as a former primary. */
export interface ReplicaIdentity {
  readonly setName?: string;
  readonly setVersion?: number;
  readonly electionId?: ObjectId;
}

/** The identity that a member's answer states. Throws `invalid`. */
export function replicaIdentity(answer: Buffer): ReplicaIdentity {
  const fields = new Map([...elementsOf(answer)].map((element) => [element.key, element]));
  const [name, version, election] = [textOf(fields.get("setName")), fields.get("setVersion"), fields.get("electionId")];
  return {
    ...(name !== undefined && { setName: name }),
    ...(version?.type === bsonType.int32 && { setVersion: version.value.readInt32LE(0) }),
    ...(election?.type === bsonType.objectId && { electionId: new ObjectId(Buffer.from(election.value)) }),
  };
}

/**
 * An answer to hello without a server, for a client that is refused: drivers treat an error in its place as a server that is not ready, and wait for half a
 * minute; the error that their first command gets they report. `replica` identifies the set that the client knows, if there is one.
 */
export function ownAnswer(
  command: Buffer,
  { replica, address }: { readonly replica: ReplicaIdentity; readonly address: string | undefined },
): Buffer {
  const isMember = replica.setName !== undefined && address !== undefined;
  const [first] = elementsOf(command);
  return Buffer.from(
    serialize({
      helloOk: true,
      [first?.key === "hello" ? "isWritablePrimary" : "ismaster"]: true,
      ...(isMember && { ...replica, secondary: false, hosts: [address], me: address, primary: address }),
      maxBsonObjectSize: 16 * 1024 * 1024,
      maxMessageSizeBytes: maxMessage,
      maxWriteBatchSize: 100_000,
      localTime: new Date(),
      logicalSessionTimeoutMinutes: 30,
      minWireVersion: 0,
      maxWireVersion: 21,
      readOnly: false,
      ok: 1,
    }),
  );
}
