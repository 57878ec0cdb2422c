import { maxMembers, portDigits } from "../../../../core/databases/redis/member-marks.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { LocalPort } from "../../served/local-port.ts";

/** Opens a local port, any free one, for the member at an address. Throws `unavailable`. */
export type OpenMember = (member: string) => Promise<LocalPort>;

/** Ports below this have fewer digits than their marks stand for; systems hand out few of them, if any. */
const lowest = 10 ** (portDigits - 1);
const mostTries = 10;

/**
 * Local ports of the members of one cluster, each opened when the cluster first names the member, and the same for as long as it is among the last ones
 * that were named. Members come and go: of more than `most` the one is closed that was named longest ago.
 */
export class MemberPorts {
  readonly #open: OpenMember;
  readonly #most: number;
  /** The last named ones stand at the end. */
  readonly #ports = new Map<string, Promise<LocalPort>>();
  #isClosed = false;

  constructor(open: OpenMember, most = maxMembers) {
    this.#open = open;
    this.#most = most;
  }

  /** The port of the member at this address, which has five digits. Throws `unavailable`. */
  async portOf(member: string): Promise<number> {
    if (this.#isClosed) throw new PlatformError("unavailable", "the tunnel is closed");
    const known = this.#ports.get(member);
    this.#ports.delete(member);
    const opening = known ?? this.#openHigh(member);
    this.#ports.set(member, opening);
    const [oldest] = this.#ports.keys();
    if (this.#ports.size > this.#most && oldest !== undefined) void this.#drop(oldest);
    try {
      return (await opening).port;
    } catch (thrown) {
      if (this.#ports.get(member) === opening) this.#ports.delete(member);
      throw thrown;
    }
  }

  /** Closes all ports, and ends their connections. */
  close(): void {
    this.#isClosed = true;
    for (const member of [...this.#ports.keys()]) void this.#drop(member);
  }

  async #drop(member: string): Promise<void> {
    const port = this.#ports.get(member);
    this.#ports.delete(member);
    await (await port?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async #openHigh(member: string): Promise<LocalPort> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const local = await this.#open(member);
      if (local.port >= lowest) return local;
      await local[Symbol.asyncDispose]();
    }
    throw new PlatformError("unavailable", `could not open a local port of ${portDigits} digits for a member of the cluster`);
  }
}
