import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { agentHost, beginServed, reachAgent, type ServedEntry } from "../../../core/transport/enter-served.ts";
import { Multiplexer } from "../../../core/transport/multiplex/multiplexer.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { openStream } from "../open-stream.ts";
import { type ServedTarget, servedEntry } from "./open-served.ts";

/** Time for which more sessions begin on a connection, ms: then the proxy decides again, and a process that is being replaced gets no more of them. */
const carryMs = 60_000;
/** Time without a session after which the connection is ended, ms. */
const idleMs = 15_000;
/** Sessions at once, as at the agent. */
const most = 32;

/** A connection to a resource that agents serve, through the proxy, which cannot read it. It carries one session, or several with a newer agent. */
export class ServedConnection {
  readonly host: HostIdentity;
  readonly #tls: TLSSocket;
  readonly #entry: ServedEntry;
  readonly #streams: Multiplexer | undefined;
  readonly #openedAt = performance.now();
  readonly #end: Promise<void>;
  #isUsed = false;
  #idle: NodeJS.Timeout | undefined;

  /** Throws the refusal of the proxy, and the failure to reach the agent. */
  static async open<Kind extends ServedKind>(io: CliIo, profile: Profile, target: ServedTarget<Kind>): Promise<ServedConnection> {
    const { kind, name, parameters } = target;
    const outer = await openStream(io, { profile, kind, target: name, parameters });
    const entry = servedEntry(profile, target);
    return new ServedConnection(await reachAgent(outer, entry, [alpn.serviceStreams, alpn.service]), entry);
  }

  private constructor(tls: TLSSocket, entry: ServedEntry) {
    this.#tls = tls;
    this.#entry = entry;
    this.host = agentHost(tls);
    this.#end = new Promise((resolve) => void tls.once("close", () => resolve()));
    if (tls.alpnProtocol !== alpn.serviceStreams) return;
    this.#streams = new Multiplexer(tls, { most });
    this.#streams.onEnded = () => this.#watchIdle();
  }

  /** Resolves when it has ended. Never rejects. */
  get closed(): Promise<void> {
    return this.#end;
  }

  /** Whether it can carry several sessions. */
  get isShared(): boolean {
    return this.#streams !== undefined;
  }

  /** Whether another session of the user of this login may begin on it. */
  mayCarry(profile: Profile, target: ServedTarget): boolean {
    const { user, hostCaPem } = servedEntry(profile, target);
    const isSame = user.certificate === this.#entry.user.certificate && hostCaPem.join() === this.#entry.hostCaPem.join();
    return isSame && this.#streams?.hasRoom === true && performance.now() - this.#openedAt < carryMs;
  }

  /** Begins a session; `first` bytes of its client go with the request. Throws the agent's refusal. */
  async begin(first: Buffer): Promise<Duplex> {
    clearTimeout(this.#idle);
    if (this.#streams === undefined && this.#isUsed) throw new Error("this connection carries one session");
    this.#isUsed = true;
    const stream = this.#streams?.open() ?? this.#tls;
    await beginServed(stream, this.#entry, this.host, first);
    return stream;
  }

  close(): void {
    clearTimeout(this.#idle);
    if (this.#streams === undefined) this.#tls.destroy();
    else this.#streams.close();
  }

  #watchIdle(): void {
    clearTimeout(this.#idle);
    if (this.#streams?.size === 0) this.#idle = setTimeout(() => this.close(), idleMs);
  }
}
