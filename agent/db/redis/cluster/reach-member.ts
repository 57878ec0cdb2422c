import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../../core/transport/host-port.ts";
import type { EngineSession, ServerAccess } from "../../engine.ts";
import { askAccount } from "../log-in.ts";
import { knownMembers, learnMembers } from "./known-members.ts";

/** A connection over TLS to a server of a cluster. */
export interface ReachedServer {
  readonly server: Duplex;
  readonly at: HostPort;
}

/** Age up to which a list of members is trusted, and that where the agent cannot ask by itself, ms. */
const freshMs = 10_000;
const staleMs = 3_600_000;
/** Maximum members of the uri that are tried, and known ones after them, and the time after which the next one is tried in parallel, ms. */
const mostTried = 5;
const nextMs = 2_000;

/** Reaches any member of the session's cluster: one of its uri, or one that is known. Throws `unavailable`. */
export async function reachAny({ database, signal }: EngineSession, access: ServerAccess): Promise<ReachedServer> {
  const own = database.addresses.slice(0, mostTried);
  const others = [...(knownMembers(database)?.addresses.values() ?? [])].filter(
    (one) => !own.some(({ host, port }) => host === one.host && port === one.port),
  );
  return await firstReached([...own, ...others.slice(0, mostTried)], access, signal);
}

/**
 * Reaches the member at an address that a client has stated, if the cluster itself names it: as of a few seconds ago, or asked now as this account.
 * Throws `not_found`, `unavailable`.
 */
export async function reachMember(session: EngineSession, access: ServerAccess, member: string): Promise<ReachedServer> {
  const at = (await membersWith(member, session, access)).get(member);
  if (at === undefined) throw new PlatformError("not_found", `${member.slice(0, 270)} is not a member of the cluster ${session.database.name} now`);
  return await reached(at, access);
}

/** The members as known, if this one is among them and they are fresh; else as the cluster answers now, or as known where the agent cannot ask. */
async function membersWith(member: string, session: EngineSession, access: ServerAccess): Promise<ReadonlyMap<string, HostPort>> {
  const { database, signal } = session;
  const last = knownMembers(database);
  const age = performance.now() - (last?.at ?? Number.NEGATIVE_INFINITY);
  if (last !== undefined && age < freshMs && last.addresses.has(member)) return last.addresses;
  const { server, at } = await reachAny(session, access);
  try {
    // With a server that wants the user's password, sessions list the members once they have logged in.
    if ((await askAccount(server, access.user, signal)) === "own") return (await learnMembers(database, server, at, signal)).addresses;
  } finally {
    server.destroy();
  }
  if (last !== undefined && age < staleMs) return last.addresses;
  throw new PlatformError("unavailable", `this agent does not know the members of the cluster ${database.name} yet`, {
    hint: "connect to the tunnel's first port, and log in there",
  });
}

async function reached(at: HostPort, access: ServerAccess): Promise<ReachedServer> {
  const server = await access.secure(await access.dial(at));
  server.setNoDelay(true).on("error", () => {});
  return { server, at };
}

/** The first one of several servers that can be reached; each is tried when the one before has failed, or takes long. */
async function firstReached(addresses: readonly HostPort[], access: ServerAccess, signal: AbortSignal): Promise<ReachedServer> {
  const tries: Promise<ReachedServer>[] = [];
  const won = Promise.withResolvers<ReachedServer>();
  let fault: unknown;
  const fail = (thrown: unknown): undefined => {
    fault ??= thrown;
    return undefined;
  };
  for (const address of addresses) {
    const one = reached(address, access);
    tries.push(one);
    one.then(won.resolve, () => {});
    const patience = Promise.withResolvers<undefined>();
    const timer = setTimeout(patience.resolve, nextMs, undefined);
    const over = await Promise.race([won.promise, patience.promise, one.catch(fail)]);
    clearTimeout(timer);
    if (over !== undefined) break;
    signal.throwIfAborted();
  }
  const all = Promise.allSettled(tries);
  const first = await Promise.race([won.promise, all.then(() => undefined)]);
  void all.then((ends) => {
    for (const end of ends) if (end.status === "fulfilled" && end.value !== first) end.value.server.destroy();
  });
  if (first !== undefined) return first;
  throw toPlatformError(fault);
}
