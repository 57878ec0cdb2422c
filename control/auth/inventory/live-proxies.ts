import { formatHostPort, parseHostPort } from "../../../core/transport/host-port.ts";

interface LiveProxy {
  readonly address: string;
  /** Its watches that are open. */
  watches: number;
  /** Since when there is none, ms. */
  goneAt: number;
}

/** How long the address of a proxy that went away is still told, ms: it may just restart. */
const rememberedMs = 24 * 3_600_000;

/** Public web addresses of proxies: in memory, told by them for as long as they watch. */
export class LiveProxies {
  readonly #proxies = new Map<string, LiveProxy>();
  readonly #now: () => Date;
  readonly #started: number;

  constructor(now: () => Date) {
    this.#now = now;
    this.#started = now().getTime();
  }

  /** A proxy watches for as long as the result lives. Throws `invalid` for what is no `host:port`; empty: it told none. */
  watching(id: string, publicAddr: string): Disposable {
    if (publicAddr === "") return { [Symbol.dispose]: () => {} };
    const address = formatHostPort(parseHostPort(publicAddr, undefined, "public_addr"));
    const proxy: LiveProxy = { address, watches: (this.#proxies.get(id)?.watches ?? 0) + 1, goneAt: 0 };
    this.#proxies.delete(id);
    this.#proxies.set(id, proxy);
    return {
      [Symbol.dispose]: () => {
        const last = this.#proxies.get(id);
        if (last === undefined) return;
        last.watches -= 1;
        last.goneAt = this.#now().getTime();
      },
    };
  }

  forget(id: string): void {
    this.#proxies.delete(id);
  }

  isConnected(id: string): boolean {
    return (this.#proxies.get(id)?.watches ?? 0) > 0;
  }

  /** It was connected since this service started, and is not now. */
  isLost(id: string): boolean {
    return this.#proxies.get(id)?.watches === 0;
  }

  /** How long it has not been connected, ms; one that has not been seen since this service started, since then. */
  goneForMs(id: string): number {
    const proxy = this.#proxies.get(id);
    if ((proxy?.watches ?? 0) > 0) return 0;
    return this.#now().getTime() - (proxy?.goneAt ?? this.#started);
  }

  /** Where people reach this proxy; undefined: it told nothing. */
  addressOf(id: string): string | undefined {
    return this.#proxies.get(id)?.address;
  }

  /** Each once: the connected ones first. */
  addresses(): readonly string[] {
    const oldest = this.#now().getTime() - rememberedMs;
    for (const [id, { watches, goneAt }] of this.#proxies) if (watches === 0 && goneAt < oldest) this.#proxies.delete(id);
    const all = [...this.#proxies.values()];
    return [...new Set([...all.filter(({ watches }) => watches > 0), ...all].map(({ address }) => address))];
  }
}
