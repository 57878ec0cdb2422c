import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { writeError } from "../../output.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { usableResources } from "../served/list-served.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { openServed, type ServedTarget } from "../served/open-served.ts";
import { ServedConnection } from "../served/served-connection.ts";
import { isCancelRequest, readStart } from "./cancel-request.ts";
import { findDatabase } from "./find-database.ts";
import { refuseLocalClient } from "./refuse-local-client.ts";

export interface UsableDatabase {
  readonly name: string;
  readonly protocol: string;
  /** The user's account there, if agents make it. */
  readonly account?: string;
}

/** The database of this name, or the only one whose name begins so. With a certificate for one resource its protocol is not known. Throws `not_found`, `invalid`. */
export async function usableDatabase({ io }: Pick<Call, "io">, profile: Profile, given: string): Promise<UsableDatabase> {
  // The auth service answers no question to such a certificate; the proxy and the agent decide.
  if (profile.facts.route !== undefined) return { name: given, protocol: "" };
  const { name, details, account } = findDatabase(await usableResources(io, profile, "db"), given);
  return { name, protocol: details.protocol ?? "", ...(account !== undefined && { account }) };
}

export interface TunnelAsk {
  readonly database: UsableDatabase;
  /** Read for each connection: a newer login counts. */
  readonly source: ProfileSource;
  /** Empty: what the client says. */
  readonly user: string;
  readonly name: string;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * A local port whose connections go to a database, all to the same agent while that can be reached. A failure on the way is printed, and the client gets
 * it in the words of its protocol. Throws `unavailable`.
 */
export async function openDatabaseTunnel(call: Call, ask: TunnelAsk): Promise<LocalPort> {
  const { database, port } = ask;
  const agents = new Agents(call, ask);
  const local = await openLocalPort(call.io, port, async (socket, signal) => {
    const start = database.protocol === "postgres" ? await readStart(socket) : Buffer.alloc(0);
    if (isCancelRequest(start)) {
      await agents.cancel(start);
      socket.end();
      return;
    }
    const opened = await agents.open(start).catch(async (thrown: unknown) => {
      writeError(call.io, toPlatformError(thrown));
      await refuseLocalClient({ socket, protocol: database.protocol, start }, thrown, signal);
    });
    if (opened === undefined) return;
    await using session = opened;
    await relay(socket, session.stream, { signal });
  });
  agents.at = local.address;
  void local.closed.then(() => agents.close());
  return local;
}

/** Maximum number of an agent's replaced processes that are asked to cancel a query. */
const mostReplaced = 9;

/**
 * Agents of one tunnel. Connections of one client belong together: a cancelled query, a driver's members. So the next connection goes to the agent of the
 * last one, and a cancel request to every agent that has one.
 */
class Agents {
  readonly #call: Call;
  readonly #ask: TunnelAsk;
  /** Hosts of the open sessions. */
  readonly #open = new Map<Duplex, string>();
  #last = "";
  /** The connection for more sessions, and one that is being opened for them. */
  #kept: ServedConnection | undefined;
  #opening: Promise<ServedConnection> | undefined;
  /** The agent of the last connection is too old for several sessions on one. */
  #isAlone = false;
  /** Address of the local port. */
  at = "";

  constructor(call: Call, ask: TunnelAsk) {
    this.#call = call;
    this.#ask = ask;
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

  close(): void {
    this.#kept?.close();
  }

  /** Also in the processes that a reload has replaced, which have their sessions still. Never throws: a server does not answer a cancel request either. */
  async cancel(request: Buffer): Promise<void> {
    const hosts = [...new Set(this.#open.values())];
    await Promise.allSettled(
      hosts.map(async (host) => {
        await this.#cancelAt(host, request);
        // Ends with the first number that there is no process for.
        for (let older = 1; older <= mostReplaced; older += 1) await this.#cancelAt(`${host}${olderProcess}${older}`, request);
      }),
    );
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
      // Clients that come together share one.
      if (this.#opening !== undefined && !this.#isAlone) {
        await this.#opening.catch(() => {});
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
    this.#isAlone = !connection.isShared;
    if (connection.isShared) this.#kept = connection;
    return connection;
  }

  /** To the agent of the last connection, unless another one is better. */
  async #connectAny(profile: Profile): Promise<ServedConnection> {
    const open = async (host: string): Promise<ServedConnection> =>
      await withTrust(this.#call, profile, async (trusting) => await ServedConnection.open(this.#call.io, trusting, this.#target(host)));
    if (this.#last === "") return await open("");
    return (await open(`${this.#last}${whileHealthy}`).catch(unlessGone)) ?? (await open(""));
  }

  async #openAt(host: string): Promise<TLSSocket> {
    return await withTrust(this.#call, await this.#ask.source.current(), (trusting) => openServed(this.#call.io, trusting, this.#target(host)));
  }

  #target(host: string): ServedTarget<"db"> {
    const { database, user, name } = this.#ask;
    return { kind: "db", name: database.name, parameters: { user, name, host, at: this.at } };
  }
}

/** For a failure of the way to one agent, after which another way may work. Throws all else. */
function unlessGone(thrown: unknown): undefined {
  const isGone = thrown instanceof PlatformError && ["not_found", "unavailable", "timeout"].includes(thrown.code);
  if (!isGone) throw thrown;
}
