import { once } from "node:events";
import { type AgentOffer, differingOffers, entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isNamed } from "../../../core/access/may-offer.ts";
import { u32 } from "../../../core/bytes/fields.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { Buckets } from "../../limits/buckets.ts";
import { clientNetwork } from "../../limits/request-limit.ts";
import type { HostDirectory } from "../routing/host-directory.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";

type AskedTunnel = Pick<Tunnel, "identity" | "facts" | "offered" | "offerLimits" | "draining" | "ended" | "openStream">;

export interface CancelDeps {
  /** All tunnels of this proxy, of each host the newest first. */
  readonly tunnels: () => Iterable<AskedTunnel>;
  /** Agents without a tunnel that offer a resource. They are not asked; their offers count. */
  readonly hosts: Pick<HostDirectory, "offering">;
  readonly log: Pick<Log, "info" | "debug">;
  readonly now: () => Date;
}

interface Asked {
  /** The database of MySQL; empty: any of PostgreSQL. */
  readonly target: string;
  readonly key: Buffer;
}

/** A connection of MySQL, by the number with which its client was greeted. */
export interface GreetedConnection {
  readonly database: string;
  readonly own: number;
}

/** Length of a reply: a server's number of a connection, bytes. */
const replyBytes = 4;

/** Requests of one network: their senders are not authenticated. */
const ofNetwork = { burst: 20, perSecond: 2 } as const;
/** Networks that are remembered. */
const maxNetworks = 10_000;
/**
 * Streams of all requests together, since each request goes to every agent with a PostgreSQL database: enough for 20 requests a second with 500 such agents, and
 * for more with fewer.
 */
const ofAll = { burst: 50_000, perSecond: 10_000 } as const;
/** Maximum hosts for one request, and maximum streams that are open at the same time: enough for two requests while all of these hosts reload. */
const maxHosts = 500;
const maxOpen = 2_000;
/** Time for the agents to pass it on, ms: the client waits, so that the request cannot hit its next query. */
const takenMs = 3_000;
/** Time for the other agents to reply after the first one, ms. */
const othersMs = 1_000;

/**
 * Requests to cancel a query at PostgreSQL's port: the key is all that they carry. Only the process that has issued the key knows it, so each of this proxy's
 * agents with a PostgreSQL database is asked, including those that a reload has replaced, which still have their sessions. They do not reply, so that the sender
 * learns nothing. A client of MySQL kills a query by a number that only one process knows: the agents that offer the database are asked in the same way for the
 * server's own number. Only agents whose offers count are asked, and none while these offers differ: an agent that gets no connections to the database must not
 * choose which one is killed.
 */
export class CancelRequests {
  readonly #deps: CancelDeps;
  readonly #networks = Buckets.ofAtMost(maxNetworks, ofNetwork);
  readonly #all = new Buckets(ofAll);
  #open = 0;

  constructor(deps: CancelDeps) {
    this.#deps = deps;
  }

  /** `key`: process id and secret. Resolves once the agents have dealt with it, or after a moment. Never throws. */
  async send(key: Buffer, peer: string): Promise<void> {
    await this.#askAll({ target: "", key }, peer, this.#usable(isPostgres));
  }

  /**
   * The server's number of a connection, by the number with which its client was greeted. Undefined: no agent knows it, or replied in time, or two replied with
   * different ones. Never throws.
   */
  async threadOf({ database, own }: GreetedConnection, peer: string): Promise<number | undefined> {
    const reply = await this.#askAll({ target: database, key: u32(own) }, peer, this.#entitled(database));
    return reply?.readUInt32BE(0);
  }

  /** The reply, if all replies are equal; undefined: there was none, or they differ. */
  async #askAll(asked: Asked, peer: string, usable: readonly AskedTunnel[]): Promise<Buffer | undefined> {
    const { log, now } = this.#deps;
    const agents = this.#atMost(usable);
    if (!this.#networks.take(clientNetwork(peer), [1], now()) || !this.#all.take("", [Math.max(1, agents.length)], now()))
      return void log.debug("a request to cancel a query was dropped: too many", { peer });
    const { promise, resolve } = Promise.withResolvers<void>();
    const timers = [setTimeout(resolve, takenMs)];
    const replies: Buffer[] = [];
    const asking = agents.map(async (agent) => {
      const reply = await this.#ask(agent, asked, peer);
      if (reply.length >= replyBytes && replies.push(reply) === 1) timers.push(setTimeout(resolve, othersMs));
    });
    void Promise.all(asking).then(() => resolve());
    await promise;
    for (const timer of timers) clearTimeout(timer);
    const [first] = replies;
    return first !== undefined && replies.every((reply) => reply.equals(first)) ? first : undefined;
  }

  /** Those that accept streams come first, those that drain after them. */
  #usable(isMeant: (offered: Offered) => boolean): readonly AskedTunnel[] {
    const usable = [...this.#deps.tunnels()].filter(({ ended, offered }) => !ended && offered.some(isMeant));
    return [...usable.filter(({ draining }) => !draining), ...usable.filter(({ draining }) => draining)];
  }

  /** The processes of the hosts whose offers of a database count (`entitledOffers`); none while these offers differ. A host's offer is that of its newest process. */
  #entitled(database: string): readonly AskedTunnel[] {
    const isMeant = ({ kind, name }: Offered): boolean => kind === "db" && name === database;
    const usable = this.#usable(isMeant);
    const offers = new Map<string, AgentOffer & { readonly isNamed: boolean }>();
    for (const { identity, facts, offered, offerLimits } of usable) {
      const own = offered.find(isMeant);
      if (own === undefined || offers.has(identity.id)) continue;
      offers.set(identity.id, { host: { id: identity.id, name: facts.hostname }, offered: own, isNamed: isNamed(offerLimits, "db") });
    }
    const here = new Set([...this.#deps.tunnels()].flatMap(({ ended, identity }) => (ended ? [] : [identity.id])));
    for (const { target, offered, isNamed } of this.#deps.hosts.offering("db", database)) {
      const { id } = target.identity;
      if (!here.has(id)) offers.set(id, { host: { id, name: target.facts.hostname }, offered, isNamed });
    }
    const counted = entitledOffers([...offers.values()], (one) => one.isNamed);
    if (differingOffers(counted) !== undefined) return [];
    const hosts = new Set(counted.map(({ host }) => host.id));
    return usable.filter(({ identity }) => hosts.has(identity.id));
  }

  /** The first of these, as far as there is room for their streams. */
  #atMost(ordered: readonly AskedTunnel[]): readonly Pick<Tunnel, "openStream">[] {
    const hosts = new Set([...new Set(ordered.map(({ identity }) => identity.id))].slice(0, maxHosts));
    return ordered.filter(({ identity }) => hosts.has(identity.id)).slice(0, maxOpen - this.#open);
  }

  /** The agent's reply; empty to PostgreSQL's requests. */
  async #ask(agent: Pick<Tunnel, "openStream">, { target, key }: Asked, peer: string): Promise<Buffer> {
    this.#open += 1;
    let reply: Buffer = Buffer.alloc(0);
    try {
      const channel = await agent.openStream(openMs);
      const timer = setTimeout(() => channel.destroy(), takenMs);
      const over = Promise.race([once(channel, "end"), once(channel, "close")]);
      const parameters = { key: key.toString("hex") };
      channel.write(encodeStreamRequest({ kind: "cancel", target, parameters, clientAddress: peer, sessionId: "", accessRevision: "" }));
      channel.on("data", (chunk: Buffer) => (reply = Buffer.concat([reply, chunk]).subarray(0, replyBytes)));
      await over.finally(() => clearTimeout(timer));
      channel.destroy();
    } catch (error) {
      this.#deps.log.info("an agent did not take a request to cancel a query", { peer, error });
    } finally {
      this.#open -= 1;
    }
    return reply;
  }
}

function isPostgres({ kind, details }: Offered): boolean {
  return kind === "db" && details?.protocol === "postgres";
}
