import type { Duplex } from "node:stream";
import { maxMembers } from "../../../../core/databases/redis/member-marks.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../../../core/transport/host-port.ts";
import type { Database } from "../../database.ts";
import { askServer, errorOf } from "../ask-server.ts";
import { maxKept } from "../reply-filter.ts";
import { encodeCommand } from "../resp.ts";
import { nodeLine } from "./cluster-maps.ts";
import { memberAddress, tooManyMembers } from "./cluster-view.ts";
import { readValue, textOf } from "./resp-value.ts";

/** The members of a cluster, as one of them has answered the agent. */
export interface KnownMembers {
  /** By `host:port`; a member that has a name besides its address stands there with both. */
  readonly addresses: ReadonlyMap<string, HostPort>;
  /** `performance.now()` of the answer. */
  readonly at: number;
}

/** Age up to which a new session does not ask again, ms. */
const justMs = 1_000;

const known = new WeakMap<Database, KnownMembers>();

/** What this agent last learned about the members of a cluster. */
export function knownMembers(database: Database): KnownMembers | undefined {
  return known.get(database);
}

/**
 * Asks a server on which the account has logged in, and which owes no reply, for the members of its cluster. `at`: its address. Throws `unavailable` for a
 * server that does not say it, `limit`.
 */
export async function learnMembers(database: Database, server: Duplex, at: HostPort, signal: AbortSignal): Promise<KnownMembers> {
  const reply = await askServer(server, encodeCommand(["CLUSTER", "NODES"]), signal, maxKept);
  const error = errorOf(reply);
  if (error !== undefined) {
    const hint = "the account needs the right to CLUSTER NODES, and the server has to be a member of a cluster";
    throw new PlatformError("unavailable", `the server did not list the members of its cluster: ${error.slice(0, 500)}`, { hint });
  }
  const learned = { addresses: membersIn(textOf(readValue(reply)) ?? "", at), at: performance.now() };
  known.set(database, learned);
  return learned;
}

/** The same, unless the members were learned a moment ago. */
export async function refreshMembers(database: Database, server: Duplex, at: HostPort, signal: AbortSignal): Promise<void> {
  if (performance.now() - (known.get(database)?.at ?? Number.NEGATIVE_INFINITY) > justMs) await learnMembers(database, server, at, signal);
}

/** Members that can be dialled, from the text of CLUSTER NODES. Throws `limit`. Pure. */
export function membersIn(text: string, at: HostPort): ReadonlyMap<string, HostPort> {
  const addresses = new Map<string, HostPort>();
  let members = 0;
  for (const line of text.split("\n")) {
    const node = nodeLine(line);
    // A member in its handshake is only what CLUSTER MEET stated.
    if (node === undefined || node.port === "0" || node.flags.includes("handshake") || node.flags.includes("noaddr")) continue;
    members += 1;
    if (members > maxMembers) throw tooManyMembers();
    for (const host of [node.host, ...(node.hostname === "" ? [] : [node.hostname])]) {
      const address = memberAddress(host, node.port, at);
      addresses.set(formatHostPort(address), address);
    }
  }
  return addresses;
}
