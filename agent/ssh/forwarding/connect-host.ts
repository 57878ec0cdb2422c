import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createQueue } from "../../../core/limits/queue.ts";
import { systemText } from "../../service/system-text.ts";
import type { TcpSockets } from "./tcp-sockets.ts";

export interface HostAddress {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

/** Maximum concurrent look-ups: each blocks one of the few threads that the agent's file work uses too. */
const lookups = createQueue({ atOnce: 2, waiting: 256 });

/** A TCP connection from this host, half-open allowed, paused. Tries a name's addresses in order, as sshd does. Throws `unavailable` with the last reason. */
export async function connectHost(sockets: Pick<TcpSockets, "connect">, { host, port }: HostAddress, gone: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const address of await addressesOf(host)) {
    try {
      return await sockets.connect({ host: address, port }, gone);
    } catch (thrown) {
      last = thrown;
      if (gone.aborted) break;
    }
  }
  throw new PlatformError("unavailable", systemText(last), { cause: last });
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookups(() => lookup(host, { all: true, order: "verbatim" }));
    return found.map(({ address }) => address);
  } catch (thrown) {
    throw new PlatformError("unavailable", systemText(thrown), { cause: thrown });
  }
}
