import { dial } from "../../core/transport/dial/dial.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { CliIo } from "../io.ts";
import type { NamedProxy } from "../profile/profile-folder.ts";

/** Time limit for one port to answer, ms: a firewall may drop all packets to the other. */
const probeMs = 3000;

/** The first of the proxy's possible ports that answers; the first in the list when none does. */
export async function reachableProxy({ host, port, otherPort }: NamedProxy, env: CliIo["env"]): Promise<HostPort> {
  const first = { host, port };
  if (otherPort === undefined || (await answers(first, env))) return first;
  const other = { host, port: otherPort };
  return (await answers(other, env)) ? other : first;
}

async function answers(address: HostPort, env: CliIo["env"]): Promise<boolean> {
  try {
    const socket = await dial(address, { env, timeoutMs: probeMs });
    socket.on("error", () => {}).destroy();
    return true;
  } catch {
    return false;
  }
}
