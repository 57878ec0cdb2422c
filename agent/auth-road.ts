import type { Duplex } from "node:stream";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { dial } from "../core/transport/dial/dial.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import type { Reach } from "./reach.ts";

/** Byte streams to the auth service: through a tunnel that is up, otherwise through the address where the host joins. */
export class AuthRoad {
  readonly #address: HostPort;
  readonly #env: Env;
  /** Resolves once the stream is open. */
  reach: Reach | undefined;
  /** This host's local address on its last connection there. */
  local: string | undefined;

  constructor(address: HostPort, env: Env) {
    this.#address = address;
    this.#env = env;
  }

  async open(): Promise<Duplex> {
    const inside = this.reach?.openAuth();
    if (inside !== undefined) return await inside;
    const socket = await dial(this.#address, { env: this.#env });
    this.local = socket.localAddress;
    return socket;
  }
}
