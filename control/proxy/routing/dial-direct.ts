import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/certified-identity.ts";
import { alpn, roleServerName } from "../../../core/transport/alpn.ts";
import { connectionError, errorCode } from "../../../core/transport/dial/connection-error.ts";
import { dialTls } from "../../../core/transport/dial/dial-tls.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import type { CurrentIdentity } from "../identity/current-identity.ts";
import type { DirectTarget } from "./direct-target.ts";

export interface DialDirectOptions {
  readonly addresses: readonly string[];
  /** Who may answer there. */
  readonly hosts: readonly DirectTarget[];
  /** What people call it. */
  readonly name: string;
  readonly identity: CurrentIdentity;
  /** PEM. */
  readonly hostAuthorities: readonly string[];
  readonly now: () => Date;
  readonly timeoutMs?: number;
}

export interface Dialled {
  readonly socket: TLSSocket;
  readonly host: DirectTarget;
}

/** For the connection and the TLS handshake, ms. */
const usualMs = 10_000;
const hint = "is its agent running, and may the proxy connect to that port?";

/** An address that does not answer holds up the next one for so long, ms. */
const staggerMs = 300;

/**
 * Connects to the agent of one of the hosts: one address after the other, and the first at which the right host shows its certificate counts.
 * Throws `unavailable` that says of every address why not.
 */
export async function dialDirect(options: DialDirectOptions): Promise<Dialled> {
  const stop = new AbortController();
  const tries: Promise<Dialled>[] = [];
  for (const address of options.addresses) {
    const before = tries.at(-1);
    tries.push(turnAfter(before, stop.signal).then(() => dialOne(address, options, stop.signal)));
  }
  try {
    const first = await Promise.any(tries);
    for (const one of tries) void one.then((other) => other !== first && other.socket.destroy()).catch(() => {});
    return first;
  } catch (thrown) {
    const errors = thrown instanceof AggregateError ? thrown.errors : [thrown];
    throw new PlatformError("unavailable", errors.map((error) => errorText(error)).join("; "), { cause: errors[0], hint });
  } finally {
    stop.abort();
  }
}

/** Resolves when the try before has failed, or takes long; rejects when nobody needs another. */
async function turnAfter(before: Promise<Dialled> | undefined, signal: AbortSignal): Promise<void> {
  if (before === undefined) return;
  const failed = before.then(
    () => Promise.reject(new PlatformError("unavailable", "not needed")),
    () => {},
  );
  await Promise.race([failed, sleep(staggerMs, undefined, { signal })]);
}

async function dialOne(text: string, options: DialDirectOptions, signal: AbortSignal): Promise<Dialled> {
  const { hosts, name, hostAuthorities: ca, now, timeoutMs = usualMs } = options;
  const { cluster, credentials } = options.identity.current();
  const message = `cannot connect to ${name} at ${text}`;
  const servername = roleServerName("node");
  const tls = { alpn: [alpn.direct], servername, ca, certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey };
  let socket: TLSSocket;
  try {
    // The proxy's own network: no HTTP proxy stands before a host that it is told to reach.
    socket = await dialTls(parseHostPort(text, undefined, "address"), tls, { env: {}, timeoutMs, signal });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (errorCode(error.cause) !== "" && error.code === "unavailable") throw connectionError(error.cause, { message, hint });
    throw new PlatformError("unavailable", `${message}: ${error.message}`, { cause: error, hint });
  }
  socket.on("error", () => {});
  try {
    const { id, names } = certifiedIdentity("host", { certificate: peerCertificate(socket), authorities: ca, cluster, now: now() }, hint);
    const host = hosts.find((one) => one.identity.id === id);
    if (host !== undefined) return { socket, host };
    throw new PlatformError("unavailable", `another host answers there (${names[0] ?? id})`);
  } catch (thrown) {
    socket.destroy();
    throw new PlatformError("unavailable", `${message}: ${errorText(thrown)}`, { cause: thrown, hint });
  }
}
