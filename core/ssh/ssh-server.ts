import type { KeyObject } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { errorText, PlatformError } from "../errors/platform-error.ts";
import { type SshAlgorithms, usualAlgorithms } from "./algorithms.ts";
import { type AcceptedLogin, type Authenticate, answerLogins } from "./answer-logins.ts";
import { certificateKey, plainKey } from "./certificate-key.ts";
import { guardConnection, type Keepalive, tuneStream, usualKeepalive } from "./guard-connection.ts";
import { offerAlgorithms, requireStrictExchange, type ServerOffer } from "./offer-algorithms.ts";
import { countWritten, type RekeyLimits, scheduleRekey, usualRekeyLimits } from "./rekey.ts";
import { hookConnection, Server, signWithPlainKey, transportOf } from "./ssh2/hooks.ts";

export interface AcceptSshOptions {
  /** A connected stream of any kind; owned by the connection from then on, also when it fails. */
  readonly stream: Duplex;
  readonly hostKey: KeyObject;
  /** Blob of a host certificate of that key. Clients that cannot check it are offered only the key. */
  readonly hostCertificate: Buffer;
  /** Omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  /**
   * Policy: whether this certificate may log in under this name. Called once the client has proven that it holds the key, before any other
   * check: call `checkCertificate` in it. Throws to refuse; a PlatformError's message is shown to the client.
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
  tuneStream(stream, countWritten);
  const accepted = await handshake(options);
  scheduleRekey(accepted.connection, options.rekey ?? usualRekeyLimits);
  return accepted;
}

/** A login under way, and how it ends. */
interface Handshake {
  readonly options: AcceptSshOptions;
  readonly timer: NodeJS.Timeout;
  readonly outcome: PromiseWithResolvers<AcceptedSsh>;
  refusal?: PlatformError;
}

/** Logins by stream, until they are settled. The listeners are shared by all connections and stay: an idle one holds nothing of its login. */
const handshakes = new WeakMap<Duplex, Handshake>();
/** Streams to end with a signal: one listener for all of them. */
interface Ending {
  readonly streams: Set<Duplex>;
  /** Listener for a stream's `close`. */
  readonly forget: (this: Duplex) => void;
}
const endings = new WeakMap<AbortSignal, Ending>();

function handshake(options: AcceptSshOptions): Promise<AcceptedSsh> {
  const { stream, signal } = options;
  const limit = options.handshakeTimeoutMs ?? usualHandshakeMs;
  const timer = setTimeout(() => {
    fail(stream, new PlatformError("timeout", `the SSH client did not log in within ${limit / 1000} s`));
    stream.destroy();
  }, limit);
  const outcome = Promise.withResolvers<AcceptedSsh>();
  handshakes.set(stream, { options, timer, outcome });
  endWith(signal, stream);
  stream.on("close", streamClosed);
  // Any duplex stream works: ssh2 only reads a socket's address, to pass it on.
  serverFor(options).server.injectSocket(stream as Socket);
  return outcome.promise;
}

function settle(stream: Duplex): Handshake | undefined {
  const handshake = handshakes.get(stream);
  handshakes.delete(stream);
  clearTimeout(handshake?.timer);
  return handshake;
}

function fail(stream: Duplex, error: PlatformError): void {
  const handshake = settle(stream);
  handshake?.outcome.reject(handshake.refusal ?? error);
}

function streamClosed(this: Duplex): void {
  fail(this, new PlatformError("unavailable", "the SSH client closed the connection before it logged in"));
}

function connectionFailed(this: Connection, error: Error): void {
  fail(transportOf(this), connectionError(error));
}

function endWith(signal: AbortSignal, stream: Duplex): void {
  const ending = endings.get(signal) ?? startEnding(signal);
  ending.streams.add(stream);
  stream.on("close", ending.forget);
}

function startEnding(signal: AbortSignal): Ending {
  const streams = new Set<Duplex>();
  function forget(this: Duplex): void {
    streams.delete(this);
  }
  const end = (): void => {
    for (const stream of streams) {
      fail(stream, new PlatformError("unavailable", "the SSH connection was aborted"));
      stream.destroy();
    }
  };
  signal.addEventListener("abort", end, { once: true });
  const ending = { streams, forget };
  endings.set(signal, ending);
  return ending;
}

/** Called when the client's version line has arrived, before any packet. */
function greet(connection: Connection): void {
  const stream = transportOf(connection);
  hookConnection(connection);
  guardConnection(connection);
  const handshake = handshakes.get(stream);
  if (handshake === undefined) {
    stream.destroy();
    return;
  }
  signWithPlainKey(connection);
  offerAlgorithms(connection, serverFor(handshake.options).offer);
  connection.on("error", connectionFailed);
  requireStrictExchange(connection);
  answerLogins(connection, {
    authenticate: handshake.options.authenticate,
    onRefused: (error) => {
      handshake.refusal = error;
    },
    onAccepted: (login) => settle(stream)?.outcome.resolve({ connection, ...login }),
  });
}

interface SharedServer {
  readonly shared: string;
  readonly server: InstanceType<typeof Server>;
  readonly offer: ServerOffer;
}

/** ssh2's servers by their shared settings: each holds a listener and lists of algorithms, many KiB. */
const servers = new WeakMap<KeyObject, SharedServer>();

function serverFor(options: AcceptSshOptions): SharedServer {
  const { hostKey, hostCertificate, banner, keepalive = usualKeepalive, algorithms = usualAlgorithms } = options;
  const shared = JSON.stringify([hostCertificate.toString("base64"), banner, keepalive.intervalMs, keepalive.missed, algorithms]);
  const known = servers.get(hostKey);
  if (known?.shared === shared) return known;
  const both = { privateKey: hostKey, certificate: hostCertificate };
  const keys = [certificateKey(both), plainKey(both)];
  const server = new Server(
    {
      // ssh2 accepts a parsed key here too; its types do not declare it. Each is chosen by its algorithm.
      hostKeys: keys.map((key) => ({ key: key as never })),
      keepaliveInterval: keepalive.intervalMs,
      keepaliveCountMax: keepalive.missed,
      ...(banner === undefined ? {} : { banner }),
    },
    greet,
  );
  const made = { shared, server, offer: { hostKeys: keys.map(({ type }) => type), algorithms, made: new Map() } };
  servers.set(hostKey, made);
  return made;
}

function connectionError(error: Error): PlatformError {
  if (error instanceof PlatformError) return error;
  return new PlatformError("unavailable", `SSH connection failed: ${errorText(error)}`, { cause: error });
}
