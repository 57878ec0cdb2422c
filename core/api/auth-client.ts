import type { Duplex } from "node:stream";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { PlatformError } from "../errors/platform-error.ts";
import { alpn, authServerName, roleServerName } from "../transport/alpn.ts";
import { issuerOf, tlsError } from "../transport/dial/connection-error.ts";
import { overWebPort } from "../transport/upgrade/dial-web-port.ts";
import type { SilenceLimits } from "../transport/watch-http2.ts";
import { fromConnectError, withOurErrors } from "./auth-call.ts";
import { type AuthSession, isNotBegun, openAuthSession } from "./auth-session.ts";
import { caPin } from "./ca-pin.ts";
import { AuthService } from "./generated/platform/auth/v1/auth_pb.ts";

/** Calls throw PlatformError. */
export type AuthClient = Client<typeof AuthService>;

export interface AuthClientOptions {
  /** Opens a byte stream that ends at the auth service's TLS listener: a dialled socket, or a channel of a tunnel. */
  readonly open: () => Promise<Duplex>;
  /** PEM certificates of the host authority (see trust.ts for how to get them first). */
  readonly ca: readonly string[];
  /** PEM; omitted for an anonymous client. */
  readonly credentials?: { readonly certificate: string; readonly privateKey: string };
  /** Timeout of one call; default 15 s. */
  readonly timeoutMs?: number;
  /** When a service that answers nothing is given up, and the next call opens another connection; default 20 s and 10 s. */
  readonly silence?: SilenceLimits;
  /** Called as soon as a call may have reached the service, with the name of its method in the client. */
  readonly onSent?: (method: string) => void;
}

export interface AuthConnection extends Disposable {
  readonly client: AuthClient;
  /** The next call opens another connection, with the credentials of then. Those under way have some time to end on the one before. */
  renew(): void;
  close(): void;
}

/** Of one call, ms. */
const usualTimeoutMs = 15_000;
/** Together what proxies decide by without word of the auth service (access-cache). */
const usualSilence: SilenceLimits = { idleMs: 20_000, answerMs: 10_000 };
/** For the calls on a connection that another one replaces: longer than any of them, ms. */
const leavingMs = 20_000;

/**
 * A client that connects at its first call, drops an idle connection, and reconnects after a failure. When the server leaves (GOAWAY), calls that it has
 * begun are finished on their connection; all others go over a new one.
 */
export function openAuthClient(options: AuthClientOptions): AuthConnection {
  const sessions = new AuthSessions(options);
  const translated = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (thrown) {
      throw fromConnectError(thrown);
    }
  };
  const send: Transport["unary"] = async (...call) => {
    const transport = await sessions.ready();
    options.onSent?.(call[0].localName);
    return await transport.unary(...call);
  };
  const unary: Transport["unary"] = async (...call) => {
    try {
      return await send(...call);
    } catch (thrown) {
      if (!isNotBegun(thrown)) throw thrown;
      return await send(...call);
    }
  };
  const client = createClient(AuthService, {
    unary: (...call) => translated(() => unary(...call)),
    stream: async (...call) => withOurErrors(await translated(async () => await (await sessions.ready()).stream(...call))),
  });
  const close = (): void => sessions.cut();
  return { client, renew: () => sessions.renew(), close, [Symbol.dispose]: close };
}

/** The connections of a client: one that takes calls, and those that are leaving. */
class AuthSessions {
  readonly #options: AuthClientOptions;
  #session: AuthSession | undefined;
  #opening: Promise<Transport> | undefined;
  readonly #leaving = new Set<AuthSession>();
  /** Counted: a connection that was being opened meanwhile is not used. */
  #renewals = 0;
  #cuts = 0;

  constructor(options: AuthClientOptions) {
    this.#options = options;
  }

  /** Throws `unavailable`, `timeout`. */
  ready(): Promise<Transport> {
    if (this.#session?.isUsable() === true) return Promise.resolve(this.#session.transport);
    if (this.#opening !== undefined) return this.#opening;
    const mine = this.#open().finally(() => {
      if (this.#opening === mine) this.#opening = undefined;
    });
    this.#opening = mine;
    return mine;
  }

  renew(): void {
    this.#renewals += 1;
    this.#opening = undefined;
    const one = this.#session;
    this.#session = undefined;
    if (one === undefined) return;
    this.#leave(one);
    one.leave();
    setTimeout(() => one.cut(), leavingMs).unref();
  }

  cut(): void {
    this.#cuts += 1;
    this.#opening = undefined;
    this.#session?.cut();
    for (const one of this.#leaving) one.cut();
    this.#session = undefined;
  }

  async #open(): Promise<Transport> {
    if (this.#session?.isLeaving() === true) this.#leave(this.#session);
    else this.#session?.cut();
    this.#session = undefined;
    const { timeoutMs = usualTimeoutMs, silence = usualSilence } = this.#options;
    const [renewals, cuts] = [this.#renewals, this.#cuts];
    const opened = await openAuthSession(await connectAuthTls(this.#options), { timeoutMs, silence });
    if (cuts === this.#cuts && renewals === this.#renewals) {
      this.#session = opened;
      return opened.transport;
    }
    opened.cut();
    if (cuts === this.#cuts) return await this.ready();
    throw new PlatformError("unavailable", "the connection to the auth service was closed while it was being opened");
  }

  #leave(one: AuthSession): void {
    this.#leaving.add(one);
    one.onClosed(() => this.#leaving.delete(one));
  }
}

const apiProtocols: readonly string[] = [alpn.auth, "h2"];

/** TLS to the auth service over an open stream; an error destroys it. Throws `unavailable`, also when its certificate is not from this cluster. */
export async function connectAuthTls(options: AuthClientOptions, protocols = apiProtocols): Promise<TLSSocket> {
  return await overWebPort(options.open, (stream) => secureAuth(stream, options, protocols));
}

async function secureAuth(stream: Duplex, options: AuthClientOptions, protocols: readonly string[]): Promise<TLSSocket> {
  const [first] = options.ca;
  return await new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: stream,
      ALPNProtocols: [...protocols],
      servername: first === undefined ? roleServerName("auth") : authServerName(caPin(first)),
      checkServerIdentity: (_sent, certificate) => checkServerIdentity(roleServerName("auth"), certificate),
      ca: [...options.ca],
      minVersion: "TLSv1.3",
      ...(options.credentials && { cert: options.credentials.certificate, key: options.credentials.privateKey }),
    });
    // Stays: over a stream, an error may follow in the same tick, before the caller can listen, and Node does not destroy the socket then.
    socket.on("error", () => socket.destroy());
    const settle = (): void => {
      clearTimeout(timer);
      socket.off("error", fail).off("close", closed);
    };
    // Before Node verifies the certificate: a refusal drops it.
    let issuer: string | undefined;
    socket.prependOnceListener("secure", () => {
      issuer = issuerOf(socket);
    });
    const fail = (cause: Error): void => {
      settle();
      socket.destroy();
      reject(authTlsError(cause, issuer));
    };
    const closed = (): void => fail(new Error("the connection was closed"));
    const timer = setTimeout(() => fail(new PlatformError("timeout", "the auth service did not finish the TLS handshake in 10 s")), 10_000);
    socket.once("error", fail).once("close", closed);
    socket.once("secureConnect", () => {
      settle();
      resolve(socket);
    });
  });
}

/** Always `unavailable`: a machine in the middle may go away again. */
function authTlsError(cause: Error, issuer: string | undefined): PlatformError {
  const error = tlsError(cause, { peer: "the auth service", hint: "check the address and its port", issuer });
  if (error.code !== "unauthenticated" || error === cause) return error;
  return new PlatformError("unavailable", `no TLS connection to the auth service: ${error.message}`, { hint: error.hint, cause });
}
