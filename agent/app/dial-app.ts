import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { ignoreError } from "../../core/transport/dial/attempt.ts";
import { connectionError } from "../../core/transport/dial/connection-error.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { watchPeer } from "../service/watch-peer.ts";
import type { OfferedApp } from "./offered-app.ts";
import type { Targets } from "./target-policy.ts";

/** Time limit of a connection, ms. */
const connectMs = 15_000;

interface AppTarget extends Pick<OfferedApp, "name" | "uri" | "address"> {
  /** Of an address that states none. */
  readonly port?: number | undefined;
}

/** A connection to the application. Throws `unavailable`, `timeout`, and `denied` for an address outside the agent's policy. */
export async function dialApp({ name, uri, address, port }: AppTarget, targets: Targets, signal: AbortSignal): Promise<Socket> {
  const where = `the agent could not reach application ${name} at ${uri}${port === undefined ? "" : `:${port}`}`;
  try {
    if (address.scheme === "unix") return await dialUnix(address.socketPath, signal);
    targets.check(address.host);
    const at = { host: address.host, port: address.port ?? port ?? 0 };
    return watchPeer(await dial(at, { env: {}, timeoutMs: connectMs, signal, lookup: targets.lookup }), `application ${name}`);
  } catch (thrown) {
    const { code, message } = connectionError(thrown, { message: "no connection", hint: "" });
    throw new PlatformError(code === "denied" || code === "timeout" ? code : "unavailable", `${where}: ${message}`, { cause: thrown });
  }
}

async function dialUnix(path: string, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ path }).on("error", ignoreError);
  try {
    await once(socket, "connect", { signal: AbortSignal.any([signal, AbortSignal.timeout(connectMs)]) });
    return socket.off("error", ignoreError);
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}
