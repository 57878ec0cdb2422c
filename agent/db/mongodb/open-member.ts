import { setTimeout as delay } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { serialize } from "bson";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import type { Database } from "../database.ts";
import type { ServerAccess } from "../engine.ts";
import { fieldOf, isTrue, textOf } from "./bson-elements.ts";
import { Candidates, knownMembers, type MemberWish, memberWish, replicaSetOf, suitability } from "./choose-member.ts";
import { type MemberFacts, memberFacts, type ReplicaIdentity, replicaIdentity } from "./hello.ts";
import { readMessage } from "./read-message.ts";
import { currentSeeds, knownSeeds, type Seeds } from "./srv-seeds.ts";
import { opMsg, readAnswer } from "./wire-message.ts";

/** A connection to a member, logged in. */
export interface Member {
  readonly socket: TLSSocket;
  /** The document of its answer to the agent's hello. */
  readonly hello: Buffer;
  readonly facts: MemberFacts;
}

export interface MemberSearch {
  readonly access: ServerAccess;
  readonly database: Database;
  /** The agent's hello, a whole message. */
  readonly hello: Buffer;
  readonly signal: AbortSignal;
}

/** Maximum time until a member is found, and for one answer, ms. Drivers wait for 10 seconds and more. */
const searchMs = 8_000;
const answerMs = 5_000;
/** Time between two rounds while a replica set has no primary, ms. */
const electionMs = 500;
/** Longest answer to a hello or a login, bytes. */
const maxAnswer = 64 * 1024;

/** The member that served the last session: the first to ask for the next. */
const lastMembers = new WeakMap<Database, { readonly address: HostPort; readonly identity: ReplicaIdentity }>();

/** The replica set as clients of this database have seen it; empty: they have not, or there is none. */
export function knownReplica(database: Database): ReplicaIdentity {
  const setName = replicaSetOf(knownSeeds(database).options);
  return lastMembers.get(database)?.identity ?? (setName === undefined ? {} : { setName });
}

/** Finds the member that the database's uri asks for, and logs in. Throws PlatformError: `unavailable`, `denied`, or the reason of the signal. */
export async function openMember(search: MemberSearch): Promise<Member> {
  const seeds = await currentSeeds(search.database);
  const wish = memberWish(seeds.options);
  const deadline = AbortSignal.timeout(searchMs);
  const signal = AbortSignal.any([search.signal, deadline]);
  let fault: unknown;
  for (;;) {
    const found = await oneRound({ ...search, signal, seeds }, wish);
    if (found.member !== undefined) return await loggedIn(found.member, { ...search, signal });
    fault = found.fault ?? fault;
    search.signal.throwIfAborted();
    // An election takes seconds; an unreachable server does not come back within them.
    if (!found.answered || deadline.aborted) break;
    await delay(electionMs, undefined, { signal }).catch(() => {});
    search.signal.throwIfAborted();
  }
  throw fault === undefined ? noMember(search.database, wish) : toPlatformError(fault);
}

interface Round {
  readonly member: Member | undefined;
  /** Whether any member answered, so that another round can find more. */
  readonly answered: boolean;
  readonly fault: unknown;
}

async function oneRound(search: MemberSearch & { readonly seeds: Seeds }, wish: MemberWish): Promise<Round> {
  const { database, signal, seeds } = search;
  const last = lastMembers.get(database);
  const candidates = new Candidates(last === undefined ? seeds.addresses : [last.address, ...seeds.addresses]);
  let [answered, fault, fallback]: [boolean, unknown, Member | undefined] = [false, undefined, undefined];
  for (let address = candidates.next(); address !== undefined && !signal.aborted; address = candidates.next()) {
    try {
      const member = await greeted(address, search);
      answered = true;
      const fit = suitability(member.facts, wish);
      if (fit === "use") {
        fallback?.socket.destroy();
        lastMembers.set(database, { address, identity: replicaIdentity(member.hello) });
        return { member, answered, fault };
      }
      candidates.add(knownMembers(member.facts, wish));
      if (fit === "fallback" && fallback === undefined) fallback = member;
      else member.socket.destroy();
    } catch (thrown) {
      fault = thrown;
    }
  }
  return { member: fallback, answered, fault: answered ? undefined : fault };
}

/** A connection over TLS on which the member has answered the agent's hello. */
async function greeted(address: HostPort, { access, hello, signal }: MemberSearch): Promise<Member> {
  const plain = await access.dial(address);
  plain.on("error", () => {});
  let socket: TLSSocket;
  try {
    socket = await access.secure(plain);
  } catch (thrown) {
    plain.destroy();
    throw thrown;
  }
  socket.setNoDelay(true);
  socket.on("error", () => {});
  try {
    const answer = await asked(socket, hello, { signal, peer: `the MongoDB server at ${formatHostPort(address)}` });
    const facts = memberFacts(answer);
    if (!facts.ok) throw new PlatformError("unavailable", `the MongoDB server at ${formatHostPort(address)} refused hello: ${errorOf(answer)}`);
    return { socket, hello: answer, facts };
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}

/** Logs in by the certificate of the connection: its subject is the name of the user. */
async function loggedIn(member: Member, { access, database, signal }: MemberSearch): Promise<Member> {
  const login = opMsg({ requestId: 2 }, Buffer.from(serialize({ authenticate: 1, mechanism: "MONGODB-X509", $db: "$external" })));
  try {
    const answer = await asked(member.socket, login, { signal, peer: `the server of database ${database.name}` });
    if (isTrue(fieldOf(answer, "ok"))) return member;
    throw new PlatformError("denied", `the server of database ${database.name} refused account CN=${access.user}: ${errorOf(answer)}`, {
      hint: `create user "CN=${access.user}" in its database $external, and have it trust the cluster's db_client authority`,
    });
  } catch (thrown) {
    member.socket.destroy();
    throw thrown;
  }
}

async function asked(socket: TLSSocket, message: Buffer, { signal, peer }: { readonly signal: AbortSignal; readonly peer: string }): Promise<Buffer> {
  socket.write(message);
  try {
    const answer = await readMessage(socket, { maxBytes: maxAnswer, ms: answerMs, signal, peer });
    if (answer !== undefined) return readAnswer(answer).document;
  } catch (thrown) {
    const { code, message: why } = toPlatformError(thrown);
    throw code === "invalid" ? new PlatformError("unavailable", `${peer} does not speak MongoDB: ${why}`) : thrown;
  }
  throw new PlatformError("unavailable", `${peer} closed the connection`);
}

function errorOf(answer: Buffer): string {
  return (textOf(fieldOf(answer, "errmsg")) ?? "no reason given").slice(0, 500);
}

function noMember({ name }: Database, { replicaSet, readPreference }: MemberWish): PlatformError {
  const set = replicaSet === undefined ? "the replica set" : `replica set ${replicaSet}`;
  const kind = readPreference === "secondary" ? "secondary" : "primary";
  return new PlatformError("unavailable", `${set} of database ${name} has no ${kind} now`, { hint: "check it with rs.status()" });
}
