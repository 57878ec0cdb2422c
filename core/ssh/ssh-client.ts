import type { KeyObject } from "node:crypto";
import type { Duplex } from "node:stream";
import type { ClientCallback, ExecOptions } from "ssh2";
import { errorText, PlatformError, toPlatformError } from "../errors/platform-error.ts";
import { clientAlgorithms, hostCertificateTypes } from "./algorithms.ts";
import { parseCertificate, type SshCertificate } from "./certificate.ts";
import { certificateKey } from "./certificate-key.ts";
import { checkCertificate } from "./check-certificate.ts";
import { guardConnection, type Keepalive, tuneStream, usualKeepalive } from "./guard-connection.ts";
import type { LentAgent } from "./lent-agent.ts";
import { readRefusal } from "./refusals.ts";
import { countWritten, type RekeyLimits, scheduleRekey, usualRekeyLimits } from "./rekey.ts";
import { Client, hookConnection, verifyWithPlainKey } from "./ssh2/hooks.ts";

/** ssh2's client, tuned and guarded: it always has a listener for `error`, and `close` follows every end. */
export type SshConnection = Client;

export interface ConnectSshOptions {
  /** A connected stream of any kind; owned by the connection from then on, also when it fails. */
  readonly stream: Duplex;
  readonly username: string;
  readonly privateKey: KeyObject;
  /** Blob of a user or a host certificate of that key. */
  readonly certificate: Buffer;
  /** Public lines of the authorities that may have signed the server's host certificate. */
  readonly hostAuthorities: readonly string[];
  /** A name that the server's certificate must list. */
  readonly principal?: string;
  /** Further policy on the server's certificate, which is verified by then; throws to refuse. */
  readonly checkHost?: (certificate: SshCertificate) => void;
  /** Agent to forward to the host in sessions that request it. */
  readonly agent?: LentAgent | undefined;
  readonly keepalive?: Keepalive;
  readonly rekey?: RekeyLimits;
  /** Timeout for everything until the login is accepted. */
  readonly timeoutMs: number;
  /** Ends the connection, at any time. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
}

/**
 * Logs in over a stream. Add listeners in the same turn in which it resolves: the server may open channels at once.
 * Throws PlatformError: a problem with the server's certificate (`unauthenticated`), the server's own refusal, `timeout`, `unavailable`.
 */
export async function connectSsh(options: ConnectSshOptions): Promise<SshConnection> {
  const { stream, signal } = options;
  if (signal.aborted || stream.destroyed) {
    stream.destroy();
    throw new PlatformError("unavailable", "the connection was closed before SSH could start");
  }
  const client = new Client();
  const facts: Handshake = {};
  tuneStream(stream, countWritten);
  const outcome = waitUntilReady(client, options, facts);
  start(client, options, facts);
  hookConnection(client);
  guardConnection(client);
  await outcome;
  scheduleRekey(client, options.rekey ?? usualRekeyLimits);
  return client;
}

/** `client.exec` for a command that may not be UTF-8, as a path may not be either. ssh2 accepts bytes, although its types do not declare it. */
export function execBytes(client: SshConnection, command: Buffer | string, options: ExecOptions, opened: ClientCallback): void {
  client.exec(command as string, options, opened);
}

/** Facts collected during the handshake, to explain a failure. */
interface Handshake {
  hostCertificate?: Buffer;
  refusal?: PlatformError;
}

function start(client: Client, options: ConnectSshOptions, facts: Handshake): void {
  const { username, privateKey, certificate } = options;
  const keepalive = options.keepalive ?? usualKeepalive;
  client.on("banner", (text) => {
    const refusal = readRefusal(text);
    if (refusal !== undefined) facts.refusal = refusal;
  });
  client.connect({
    // ssh2 accepts any duplex stream; its types demand a Readable.
    sock: options.stream,
    username,
    readyTimeout: 0,
    keepaliveInterval: keepalive.intervalMs,
    keepaliveCountMax: keepalive.missed,
    algorithms: { ...clientAlgorithms, serverHostKey: hostCertificateTypes as never },
    hostVerifier: (blob: Buffer) => verifyHost(client, blob, options, facts),
    ...(options.agent && { agent: options.agent }),
    // A parsed key is accepted too; the types of ssh2 do not declare it.
    authHandler: [{ type: "publickey", username, key: certificateKey({ privateKey, certificate }) } as never],
  });
}

/** At a later key exchange the server must present the very same certificate, which may have expired by then. */
function verifyHost(client: Client, blob: Buffer, options: ConnectSshOptions, facts: Handshake): boolean {
  try {
    if (facts.hostCertificate === undefined) checkHost(blob, options);
    else if (!facts.hostCertificate.equals(blob)) throw new PlatformError("unauthenticated", "the server changed its host certificate");
    facts.hostCertificate = Buffer.from(blob);
  } catch (thrown) {
    facts.refusal = toPlatformError(thrown);
    return false;
  }
  verifyWithPlainKey(client);
  return true;
}

function checkHost(blob: Buffer, options: ConnectSshOptions): void {
  const certificate = parseCertificate(blob);
  const { hostAuthorities: authorities, principal } = options;
  const now = options.now?.() ?? new Date();
  checkCertificate(certificate, { type: "host", authorities, now, ...(principal === undefined ? {} : { principal }) });
  options.checkHost?.(certificate);
}

function waitUntilReady(client: Client, options: ConnectSshOptions, facts: Handshake): Promise<void> {
  const { stream, signal, timeoutMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: PlatformError): void => {
    clearTimeout(timer);
    reject(facts.refusal ?? error);
    stream.destroy();
  };
  const timer = setTimeout(() => fail(new PlatformError("timeout", `no SSH login within ${timeoutMs / 1000} s`)), timeoutMs);
  const abort = (): void => fail(new PlatformError("unavailable", "the SSH connection was aborted"));
  signal.addEventListener("abort", abort, { once: true });
  client.on("ready", () => {
    clearTimeout(timer);
    resolve();
  });
  client.on("error", (error: Error & { level?: string }) => fail(loginError(error, options.username)));
  stream.once("close", () => {
    signal.removeEventListener("abort", abort);
    fail(new PlatformError("unavailable", "the SSH server closed the connection"));
  });
  return promise;
}

function loginError(error: Error & { level?: string }, username: string): PlatformError {
  if (error instanceof PlatformError) return error;
  if (error.level === "client-authentication") return new PlatformError("unauthenticated", `the SSH server refused the certificate for ${username}`);
  return new PlatformError("unavailable", `SSH connection failed: ${errorText(error)}`, { cause: error });
}
