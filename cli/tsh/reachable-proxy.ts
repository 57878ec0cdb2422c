import { dial } from "../../core/transport/dial/dial.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { CliIo } from "../io.ts";
import type { NamedProxy } from "../profile/profile-folder.ts";

/** For one port to answer, ms: a firewall may drop all that goes to the other. */
const probeMs = 3000;

/** Of the ports where a proxy may be the first one that answers; the first of all when none does. */
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
