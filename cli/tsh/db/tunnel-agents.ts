import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { u32 } from "../../../core/bytes/fields.ts";
import { takeBytes } from "../../../core/databases/take-bytes.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import type { Call } from "../../command.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { openStream } from "../open-stream.ts";
import { openWithCode } from "../served/confirmed-source.ts";
import { openServed, type ServedTarget } from "../served/open-served.ts";
import { ServedConnection } from "../served/served-connection.ts";

type TunnelCall = Pick<Call, "io" | "options">;

export interface AgentsAsk {
  readonly database: { readonly name: string };
  /** Read for each connection: a newer login counts. */
  readonly source: ProfileSource;
  /** Empty: what the client says. */
  readonly user: string;
  readonly name: string;
  /** Of a cluster: the `host:port` of a member, or `any`. */
  readonly member?: string;
}

/** Time for a server's number of a connection behind the proxy's reply, ms, and its length. */
const askMs = 3_000;
const threadBytes = 4;
/** Maximum number of an agent's replaced processes that are asked to cancel a query. */
const mostReplaced = 9;

/**
 * Agents of one tunnel. Connections of one client belong together: a cancelled query, a driver's members. So the next connection goes to the agent of the
 * last one, and a cancel request to every agent that has one.
 */
export class TunnelAgents {
  readonly #call: TunnelCall;
  readonly #ask: AgentsAsk;
  /** Hosts of the open sessions. */
  readonly #open = new Map<Duplex, string>();
  #last: string;
  readonly #connections = new Set<ServedConnection>();
  /** The connection for more sessions, and one that is being opened for them. */
  #kept: ServedConnection | undefined;
  #opening: Promise<ServedConnection> | undefined;
  /** The agent of the last connection is too old for several sessions on one. */
  #isAlone = false;
  /** Address of the local port. */
  at = "";

  /** `last`: id of the host whose agent is to be preferred. */
  constructor(call: TunnelCall, ask: AgentsAsk, last = "") {
    this.#call = call;
    this.#ask = ask;
    this.#last = last;
  }

  /** Those for a member of the cluster: the agent of the last connection knows it. */
  ofMember(member: string): TunnelAgents {
    return new TunnelAgents(this.#call, { ...this.#ask, member }, this.#last);
  }

  /** A session whose client's `first` bytes go with its request. Throws the refusal of the proxy or the agent. */
  async open(first: Buffer): Promise<{ readonly stream: Duplex } & AsyncDisposable> {
    const { stream, host } = await this.#openAny(first);
    this.#last = host;
    this.#open.set(stream, host);
    return {
      stream,
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(stream);
        stream.destroy();
      },
    };
  }

  /** Ends all connections. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Also in the processes that a reload has replaced, which have their sessions still. Never throws: a server does not answer a cancel request either. */
  async cancel(request: Buffer): Promise<void> {
    const hosts = [...new Set(this.#open.values())];
    await Promise.allSettled(
      hosts.map(async (host) => {
        await this.#cancelAt(host, request);
        // Ends with the first number that no process has.
        for (let older = 1; older <= mostReplaced; older += 1) await this.#cancelAt(`${host}${olderProcess}${older}`, request);
      }),
    );
  }

  /** MySQL: the server's number of a connection whose client was greeted with `own`, by whichever agent and process it goes. Undefined: no agent knows it. Never throws. */
  async threadOf(own: number): Promise<number | undefined> {
    try {
      const { io } = this.#call;
      const ask = { kind: "cancel", target: this.#ask.database.name, parameters: { key: u32(own).toString("hex") } } as const;
      const stream = await withTrust(this.#call, await this.#ask.source.current(), async (profile) => await openStream(io, { profile, ...ask }));
      const wait = { timeoutMs: askMs, what: "the number of a connection", signal: new AbortController().signal };
      const reply = await takeBytes(stream, { ...wait, enough: () => threadBytes }).finally(() => stream.on("error", () => {}).destroy());
      return reply.readUInt32BE(0);
    } catch {
      return undefined;
    }
  }

  async #cancelAt(host: string, request: Buffer): Promise<void> {
    const tls = await this.#openAt(host);
    const closed = once(tls, "close");
    tls
      .on("error", () => {})
      .resume()
      .end(request);
    await closed;
  }

  async #openAny(first: Buffer): Promise<{ readonly stream: Duplex; readonly host: string }> {
    for (;;) {
      const profile = await this.#ask.source.current();
      const kept = this.#kept;
      if (kept?.mayCarry(profile, this.#target(""))) {
        const stream = await kept.begin(first).catch(unlessGone);
        if (stream !== undefined) return { stream, host: kept.host.id };
        if (this.#kept === kept) this.#kept = undefined;
      }
      // Clients that come together share one, or its failure.
      if (this.#opening !== undefined && !this.#isAlone) {
        await this.#opening;
        continue;
      }
      const opening = this.#connect(profile);
      this.#opening = opening;
      const connection = await opening.finally(() => {
        if (this.#opening === opening) this.#opening = undefined;
      });
      return { stream: await connection.begin(first), host: connection.host.id };
    }
  }

  async #connect(profile: Profile): Promise<ServedConnection> {
    const connection = await this.#connectAny(profile);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    this.#isAlone = !connection.isShared;
    if (connection.isShared) this.#kept = connection;
    return connection;
  }

  /** To the agent of the last connection, unless another one is better. */
  async #connectAny(profile: Profile): Promise<ServedConnection> {
    const open = async (host: string): Promise<ServedConnection> =>
      await openWithCode(
        this.#ask.source,
        profile,
        async (login) =>
          await withTrust(this.#call, login, async (trusting) => await ServedConnection.open(this.#call.io, trusting, this.#target(host))),
      );
    if (this.#last === "") return await open("");
    return (await open(`${this.#last}${whileHealthy}`).catch(unlessGone)) ?? (await open(""));
  }

  async #openAt(host: string): Promise<TLSSocket> {
    return await withTrust(this.#call, await this.#ask.source.current(), (trusting) => openServed(this.#call.io, trusting, this.#target(host)));
  }

  #target(host: string): ServedTarget<"db"> {
    const { database, user, name, member } = this.#ask;
    return { kind: "db", name: database.name, parameters: { user, name, host, at: this.at, ...(member !== undefined && { member }) } };
  }
}

/** For a failure of the way to one agent, after which another way may work. Throws all else. */
function unlessGone(thrown: unknown): undefined {
  const isGone = thrown instanceof PlatformError && ["not_found", "unavailable", "timeout"].includes(thrown.code);
  if (!isGone) throw thrown;
}
