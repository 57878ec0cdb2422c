import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { toPlatformError } from "../../core/errors/platform-error.ts";
import { Multiplexer } from "../../core/transport/multiplex/multiplexer.ts";
import { refuseUser } from "../service/accept-user.ts";
import type { StreamLife } from "../service/service.ts";

export interface ArrivedSession {
  readonly client: Duplex;
  /** The one that the proxy has opened the connection for. */
  readonly isFirst: boolean;
  /** The client opens a connection of its own for each session from now on. */
  readonly refuseMore: () => void;
}

/** Sessions of one connection at once; `tsh` opens another one for more. */
const mostSessions = 32;
/** Time after which a connection without a session is closed, ms; `tsh` closes its own earlier. */
const idleMs = 60_000;

/**
 * Serves the sessions of one user's connection, each as one on a connection of its own, until the client ends it or none has come for a while. `serve`
 * throws what the client is refused with. Never throws.
 */
export async function serveSessions(
  tls: TLSSocket,
  life: StreamLife,
  serve: (session: ArrivedSession, life: StreamLife) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let isFirst = true;
  const refuseMore = (): void => connection.refuseMore();
  const serveOne = async (session: ArrivedSession): Promise<void> => {
    const { client } = session;
    client.on("error", () => {});
    try {
      const own = life.within?.(client) ?? life;
      const established = (): void => {
        own.established();
        life.established();
      };
      await serve(session, { ...own, established });
    } catch (thrown) {
      await refuseUser(client, toPlatformError(thrown));
    } finally {
      client.destroy();
    }
  };
  const onStream = (client: Duplex): void => {
    clearTimeout(idle);
    const one = serveOne({ client, isFirst, refuseMore }).finally(() => running.delete(one));
    running.add(one);
    isFirst = false;
  };
  const connection = new Multiplexer(tls, { most: mostSessions, onStream });
  let idle = setTimeout(() => connection.close(), idleMs);
  connection.onEnded = () => {
    if (connection.size > 0) return;
    clearTimeout(idle);
    idle = setTimeout(() => connection.close(), idleMs);
  };
  // The sessions have their last words before.
  const stop = (): void => void Promise.allSettled(running).then(() => connection.close());
  life.signal.addEventListener("abort", stop, { once: true });
  await connection.closed;
  clearTimeout(idle);
  life.signal.removeEventListener("abort", stop);
  await Promise.allSettled(running);
}
