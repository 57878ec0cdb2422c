import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import { alpn, roleServerName } from "../../../core/transport/alpn.ts";
import { connectionError, errorCode } from "../../../core/transport/dial/connection-error.ts";
import { dialTls } from "../../../core/transport/dial/dial.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import type { RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import type { DirectTarget, ElsewhereTarget } from "./find-target.ts";

/* Ways to a host without a tunnel to this proxy: its tunnel comes, or the proxy dials it. */

/** Wait for the tunnel of a host, ms: agents connect to every proxy. */
const elsewhereMs = 5_000;

/** The host's tunnel as soon as it is here. Throws `unavailable` with the proxies to which the host is connected. */
export async function awaitTunnel(
  { identity, facts, proxies }: ElsewhereTarget,
  registry: Pick<TunnelRegistry<RoutedTunnel>, "arrival">,
): Promise<RoutedTunnel> {
  const tunnel = await registry.arrival(identity.id, elsewhereMs);
  if (tunnel !== undefined) return tunnel;
  const where = proxies.map(({ name, addr }) => (addr === "" ? name : `${name} (${addr})`)).join(", ");
  const other = proxies.find(({ addr }) => addr !== "")?.addr;
  throw new PlatformError("unavailable", `${facts.hostname} is connected to proxy ${where || "none"}, but not to this one yet`, {
    hint: `${other === undefined ? "try again shortly" : `try again in a moment, or use that proxy: tsh --proxy=${other}`}; \`platform doctor\` on the host shows why it could not reach this one`,
  });
}

/** The proxy's own certificate, and its cluster. */
export interface DiallingIdentity {
  current(): { readonly cluster: string; readonly credentials: Pick<HostCredentials, "tlsCertificate" | "tlsPrivateKey"> };
}

export interface DialDirectOptions {
  readonly addresses: readonly string[];
  /** Hosts that may answer there. */
  readonly hosts: readonly DirectTarget[];
  /** Name of the host at an address, for users. */
  readonly name: (address: string) => string;
  readonly identity: DiallingIdentity;
  /** PEM. */
  readonly hostAuthorities: readonly string[];
  readonly now: () => Date;
  /** Ends all attempts. */
  readonly signal?: AbortSignal;
}

export interface Dialled {
  readonly socket: TLSSocket;
  readonly host: DirectTarget;
}

/** Time limit of the connection and the TLS handshake, ms. */
const timeoutMs = 10_000;
const hint = "check that its agent is running, and that the proxy may connect to that port";

/** Delay before the next address is tried while one does not answer, ms. */
const staggerMs = 300;

/**
 * Connects to the agent of one of the hosts: tries one address after the other, and takes the first where the right host proves its identity.
 * Throws `unavailable` with the failure of every address.
 */
export async function dialDirect(options: DialDirectOptions): Promise<Dialled> {
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
  const tries: Promise<Dialled>[] = [];
  for (const address of options.addresses) {
    const before = tries.at(-1);
    tries.push(turnAfter(before, signal).then(() => dialOne(address, options, signal)));
  }
  try {
    const first = await Promise.any(tries);
    for (const one of tries) void one.then((other) => other !== first && other.socket.destroy()).catch(() => {});
    return first;
  } catch (thrown) {
    const failures = thrown instanceof AggregateError ? thrown.errors : [thrown];
    const begun = failures.filter((failure) => failure instanceof PlatformError);
    // Attempts whose turn had not come are left out.
    const errors = begun.length > 0 ? begun : failures;
    throw new PlatformError("unavailable", errors.map((error) => errorText(error)).join("; "), { cause: errors[0], hint });
  } finally {
    stop.abort();
  }
}

/** Resolves when the previous attempt has failed or takes long; rejects when no other is needed. */
async function turnAfter(before: Promise<Dialled> | undefined, signal: AbortSignal): Promise<void> {
  if (before === undefined) return;
  const failed = before.then(
    () => Promise.reject(new PlatformError("unavailable", "not needed")),
    () => {},
  );
  await Promise.race([failed, sleep(staggerMs, undefined, { signal })]);
}

async function dialOne(text: string, options: DialDirectOptions, signal: AbortSignal): Promise<Dialled> {
  const { hosts, name, hostAuthorities: ca, now } = options;
  const { cluster, credentials } = options.identity.current();
  const message = `could not connect to ${name(text)} at ${text}`;
  const servername = roleServerName("node");
  const tls = { alpn: [alpn.direct], servername, ca, certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey };
  let socket: TLSSocket;
  try {
    // The proxy's own network: hosts are dialled without an HTTP proxy.
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
