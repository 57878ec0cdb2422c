import type { KeyObject } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { errorText, PlatformError } from "../errors/platform-error.ts";
import { type AcceptedLogin, type Authenticate, answerLogins } from "./answer-logins.ts";
import { certificateKey } from "./certificate-key.ts";
import { forgetExchanges } from "./forget-exchange.ts";
import { guardConnection } from "./guard-connection.ts";
import { type Keepalive, offeredAlgorithms, usualKeepalive } from "./negotiation.ts";
import { type RekeyLimits, scheduleRekey, usualRekeyLimits } from "./rekey.ts";
import { plainAlgorithm, rawConnection, Server } from "./ssh2.ts";
import { tuneStream } from "./tune-stream.ts";

export interface AcceptSshOptions {
  /** A connected stream of any kind; owned by the connection from now on, also when it fails. */
  readonly stream: Duplex;
  readonly hostKey: KeyObject;
  /** Blob of a host certificate of that key: all that is shown to clients. */
  readonly hostCertificate: Buffer;
  /**
   * Policy: may this certificate log in under this name? Called once the client has proven that it holds the key, and before anything
   * else is judged: call `checkCertificate` in it. Throws to refuse; a PlatformError's message is shown to the client.
   */
  readonly authenticate: Authenticate;
  /** Shown by the client before it logs in. */
  readonly banner?: string;
  readonly keepalive?: Keepalive;
  readonly rekey?: RekeyLimits;
  readonly handshakeTimeoutMs?: number;
  /** Ends the connection, at any time. */
  readonly signal: AbortSignal;
}

/** `connection` is ssh2's, tuned and guarded: it always has a listener for `error`, and `close` follows every end. */
export interface AcceptedSsh extends AcceptedLogin {
  readonly connection: Connection;
}

const usualHandshakeMs = 30_000;

/**
 * Speaks SSH as the server over a stream until the client has logged in with a certificate.
 * Add listeners in the same turn in which it resolves: the client opens channels at once.
 * Throws PlatformError: the last refusal, `timeout`, or `unavailable`.
 */
export async function acceptSsh(options: AcceptSshOptions): Promise<AcceptedSsh> {
  const { stream, signal } = options;
  if (signal.aborted || stream.destroyed) {
    stream.destroy();
    throw new PlatformError("unavailable", "the connection was closed before SSH could start");
  }
  let count: (bytes: number) => void = () => {};
  tuneStream(stream, (bytes) => count(bytes));
  const accepted = await handshake(options);
  ({ count } = scheduleRekey(accepted.connection, options.rekey ?? usualRekeyLimits));
  return accepted;
}

function handshake(options: AcceptSshOptions): Promise<AcceptedSsh> {
  const { stream, signal } = options;
  // Let go once it is settled: the listeners below live as long as the connection, the login's certificate need not.
  let outcome: PromiseWithResolvers<AcceptedSsh> | undefined = Promise.withResolvers<AcceptedSsh>();
  const { promise } = outcome;
  let refusal: PlatformError | undefined;
  const fail = (error: PlatformError): void => {
    clearTimeout(timer);
    outcome?.reject(refusal ?? error);
    outcome = undefined;
  };
  const limit = options.handshakeTimeoutMs ?? usualHandshakeMs;
  const timer = setTimeout(() => {
    fail(new PlatformError("timeout", `the SSH client did not log in within ${limit / 1000} s`));
    stream.destroy();
  }, limit);
  const abort = (): void => {
    fail(new PlatformError("unavailable", "the SSH connection was given up"));
    stream.destroy();
  };
  signal.addEventListener("abort", abort, { once: true });
  stream.once("close", () => {
    signal.removeEventListener("abort", abort);
    fail(new PlatformError("unavailable", "the SSH client closed the connection before it logged in"));
  });
  serve(options, (connection) => {
    connection.on("error", (error: Error) => fail(connectionError(error)));
    answerLogins(connection, {
      authenticate: options.authenticate,
      onRefused: (error) => {
        refusal = error;
      },
      onAccepted: (login) => {
        clearTimeout(timer);
        outcome?.resolve({ connection, ...login });
        outcome = undefined;
      },
    });
  });
  return promise;
}

/** `onConnection` runs when the client's version line has come, before any packet. */
function serve(options: AcceptSshOptions, onConnection: (connection: Connection) => void): void {
  waiting.set(options.stream, (connection) => {
    const protocol = rawConnection(connection)._protocol;
    const { hostKey: privateKey, hostCertificate: certificate } = options;
    // The exchange's signature names the plain algorithm; ssh2 would write the negotiated one.
    const beforeSign = (): void => {
      const { negotiated } = protocol._kex;
      negotiated.serverHostKey = plainAlgorithm(negotiated.serverHostKey);
    };
    const key = certificateKey({ privateKey, certificate, beforeSign });
    protocol._hostKeys = { [key.type]: key };
    guardConnection(connection);
    forgetExchanges(connection);
    onConnection(connection);
  });
  // Any duplex stream will do: ssh2 asks a socket for its address only, to pass it on.
  serverFor(options).injectSocket(options.stream as Socket);
}

/** What to do with the connection on a stream, once its version line has come. */
const waiting = new WeakMap<Duplex, (connection: Connection) => void>();
/** ssh2's servers by what all their connections share: one holds a listener and lists of algorithms, many KiB. */
const servers = new WeakMap<KeyObject, { readonly shared: string; readonly server: InstanceType<typeof Server> }>();

function serverFor({ hostKey, hostCertificate, banner, keepalive = usualKeepalive }: AcceptSshOptions): InstanceType<typeof Server> {
  const shared = JSON.stringify([hostCertificate.toString("base64"), banner, keepalive.intervalMs, keepalive.missed]);
  const known = servers.get(hostKey);
  if (known?.shared === shared) return known.server;
  const key = certificateKey({ privateKey: hostKey, certificate: hostCertificate });
  const server = new Server(
    {
      // ssh2 takes a parsed key here too; its types do not say so.
      hostKeys: [{ key: key as never }],
      algorithms: offeredAlgorithms,
      keepaliveInterval: keepalive.intervalMs,
      keepaliveCountMax: keepalive.missed,
      ...(banner === undefined ? {} : { banner }),
    },
    (connection) => {
      const stream = rawConnection(connection)._sock;
      waiting.get(stream)?.(connection);
      waiting.delete(stream);
    },
  );
  servers.set(hostKey, { shared, server });
  return server;
}

function connectionError(error: Error): PlatformError {
  if (error instanceof PlatformError) return error;
  return new PlatformError("unavailable", `SSH connection failed: ${errorText(error)}`, { cause: error });
}
