import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import { agentHost } from "../../../core/transport/enter-served.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { writeError } from "../../output.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { usableResources } from "../served/list-served.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";
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
    const opened = await agents.open().catch(async (thrown: unknown) => {
      writeError(call.io, toPlatformError(thrown));
      await refuseLocalClient({ socket, protocol: database.protocol, start }, thrown, signal);
    });
    if (opened === undefined) return;
    await using stream = opened;
    if (start.length > 0) stream.tls.write(start);
    await relay(socket, stream.tls, { signal });
  });
  agents.at = local.address;
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
  /** Hosts of the open connections. */
  readonly #open = new Map<TLSSocket, string>();
  #last = "";
  /** Address of the local port. */
  at = "";

  constructor(call: Call, ask: TunnelAsk) {
    this.#call = call;
    this.#ask = ask;
  }

  async open(): Promise<{ readonly tls: TLSSocket } & AsyncDisposable> {
    const tls = await this.#openAny();
    this.#last = agentHost(tls).id;
    this.#open.set(tls, this.#last);
    return {
      tls,
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(tls);
        tls.destroy();
      },
    };
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

  async #openAny(): Promise<TLSSocket> {
    if (this.#last === "") return await this.#openAt("");
    try {
      return await this.#openAt(`${this.#last}${whileHealthy}`);
    } catch (thrown) {
      const gone = thrown instanceof PlatformError && ["not_found", "unavailable", "timeout"].includes(thrown.code);
      if (!gone) throw thrown;
      return await this.#openAt("");
    }
  }

  async #openAt(host: string): Promise<TLSSocket> {
    const { database, source, user, name } = this.#ask;
    const target = { kind: "db", name: database.name, parameters: { user, name, host, at: this.at } } as const;
    return await withTrust(this.#call, await source.current(), (trusting) => openServed(this.#call.io, trusting, target));
  }
}
