import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";

/** The answer of a port of an updater: its health, or its metrics. */
export async function probeUpdater(address: string, path: string): Promise<{ readonly status: number; readonly body: string }> {
  const { status, body } = await httpsGet(parseHostPort(address, undefined, "probe"), path, { env: {}, plain: true });
  return { status, body: body.toString() };
}
