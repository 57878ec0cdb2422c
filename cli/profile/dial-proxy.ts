import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { dialTls } from "../../core/transport/dial/dial-tls.ts";
import type { TlsOptions } from "../../core/transport/dial/start-tls.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { CliIo } from "../io.ts";
import type { ProfileFacts } from "./profile.ts";

/** Maximum number of other proxies to try. */
const maxOthers = 4;

type Reach = Pick<ProfileFacts, "proxy" | "others">;

/** A TCP connection to the proxy of the login or, when it is unreachable, to another one of its cluster. Throws as `dial` does. */
export async function dialProxy(reach: Reach, io: Pick<CliIo, "env" | "stderr">): Promise<Socket> {
  return await firstReached(reach, io, (proxy) => dial(proxy, { env: io.env }));
}

/** The same inside TLS. Every proxy proves itself by the authority of the login. Throws as `dialTls` does. */
export async function dialProxyTls(reach: Reach, tls: TlsOptions, io: Pick<CliIo, "env" | "stderr">): Promise<TLSSocket> {
  return await firstReached(reach, io, (proxy) => dialTls(proxy, tls, { env: io.env }));
}

/** Throws the first failure: it concerns the proxy that the user named. */
async function firstReached<T>({ proxy, others = [] }: Reach, { stderr }: Pick<CliIo, "stderr">, open: (proxy: HostPort) => Promise<T>): Promise<T> {
  let first: unknown;
  for (const next of [proxy, ...others.slice(0, maxOthers)]) {
    try {
      const opened = await open(next);
      if (first !== undefined) stderr.write(`proxy ${formatHostPort(proxy)} cannot be reached: going through ${formatHostPort(next)}\n`);
      return opened;
    } catch (thrown) {
      first ??= thrown;
      if (!(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw first;
    }
  }
  throw first;
}
