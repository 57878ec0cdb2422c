import type { Socket } from "node:net";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { DbAddress } from "../../core/resources/db.ts";
import { Attempt } from "../../core/transport/dial/attempt.ts";
import { chooseProxy } from "../../core/transport/dial/choose-proxy.ts";
import { errorCode } from "../../core/transport/dial/connection-error.ts";
import { dialRoute } from "../../core/transport/dial/dial.ts";
import { startTls } from "../../core/transport/dial/start-tls.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import type { Database } from "./database.ts";
import type { Probe, ProbeRoad } from "./engine.ts";
import { probeOf, serversOf } from "./engines.ts";
import { judgeServer, serverTls } from "./server-road.ts";

export interface ServerCheck {
  /** PEM of the cluster's `db` authority: all keys that are trusted now. */
  readonly authorities: readonly string[];
  readonly signal: AbortSignal;
  /** Time limit of the whole check, ms. */
  readonly timeoutMs?: number;
}

const usualMs = 5_000;
/** Maximum members of a replica set that are asked. */
const maxAsked = 7;

/** Checks that a server of the database answers in its protocol, with a certificate that its TLS settings accept. Throws PlatformError with the reason. */
export async function checkServer(database: Database, { authorities, signal, timeoutMs = usualMs }: ServerCheck): Promise<void> {
  const probe = (await probeOf(database.protocol)) ?? probeTls;
  const over = new AbortController();
  const stop = (): void => over.abort();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const asked = (await serversOf(database)).slice(0, maxAsked);
    await Promise.any(asked.map((address) => new AddressCheck(database, { address, authorities, signal: over.signal, timeoutMs }).run(probe)));
  } catch (thrown) {
    throw thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** For protocols that begin with TLS. */
const probeTls: Probe = async (road) => {
  const secure = await road.secure(await road.dial());
  secure.destroySoon();
};

interface Asked {
  readonly address: DbAddress;
  readonly authorities: readonly string[];
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Bytes in answer to a ClientHello that are more than an alert: the server has sent its certificate. */
const pastCertificate = 256;

/** One check of one address. */
class AddressCheck {
  readonly #database: Database;
  readonly #asked: Asked;
  readonly #sockets: Socket[] = [];
  /** Why the server's certificate is refused. */
  #refusal: PlatformError | undefined;
  /** The server ended the handshake for lack of a client's certificate, so it does answer. Its own certificate is verified in users' sessions. */
  #wantsCertificate = false;

  constructor(database: Database, asked: Asked) {
    this.#database = database;
    this.#asked = asked;
  }

  async run(probe: Probe): Promise<void> {
    const { signal, timeoutMs } = this.#asked;
    using attempt = new Attempt({ timeoutMs, signal });
    const road = { dial: () => this.#dial(attempt), secure: this.#secure(attempt), signal: attempt.signal };
    try {
      await probe(road);
    } catch (thrown) {
      if (!this.#wantsCertificate) throw this.#refusal ?? thrown;
    } finally {
      for (const socket of this.#sockets) socket.destroySoon();
    }
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  async #dial(attempt: Attempt): Promise<Socket> {
    const { address } = this.#asked;
    // The host's own network, never through an HTTP proxy.
    const socket = await dialRoute(address, chooseProxy(address, {}), { attempt });
    this.#sockets.push(socket);
    attempt.waitingFor = `an answer of the server at ${formatHostPort(address)}`;
    return socket;
  }

  #secure(attempt: Attempt): ProbeRoad["secure"] {
    const { address, authorities } = this.#asked;
    const peer = `the server at ${formatHostPort(address)}`;
    return async (socket, { alpn = [] } = {}) => {
      const before = socket.bytesRead;
      try {
        const tls = { ...serverTls(this.#database, address.host, authorities), alpn, insecure: true };
        const secure = await startTls(socket, tls, { attempt, peer, hint: "" });
        this.#refusal = judgeServer(this.#database, secure, { peer, hint: "" });
        return secure;
      } catch (thrown) {
        const alert = thrown instanceof PlatformError ? errorCode(thrown.cause) : "";
        this.#wantsCertificate =
          /ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|CERTIFICATE_REQUIRED)/.test(alert) && socket.bytesRead - before > pastCertificate;
        throw thrown;
      }
    };
  }
}
