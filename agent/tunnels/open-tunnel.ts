import type { Duplex } from "node:stream";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromSshCertificate } from "../../core/identity/ssh-identity.ts";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { parseCertificateLine, type SshCertificate } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { type DialOptions, dial } from "../../core/transport/dial/dial.ts";
import type { TunnelAddress } from "../../core/transport/discover-tunnel.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeProxyMessage, encodeTunnelMessage, maxTunnelMessage, type ProxyMessage, tunnelChannels } from "../../core/transport/tunnel-message.ts";
import { dialWebPortTls } from "../../core/transport/upgrade/dial-web-port.ts";

/** How a tunnel is opened. */
export interface TunnelWay {
  /** `host:port` of a proxy's web address. */
  readonly at: string;
  /** Called with the id of the proxy that answers, as soon as it is authenticated. Throws `conflict` when no tunnel to it is wanted. */
  readonly claim: (proxyId: string) => void;
}

/** The agent's own facts. */
export interface AgentFacts {
  readonly hostname: string;
  /** Called when the hello is sent. */
  readonly labels: () => Labels;
  readonly services: readonly string[];
  readonly version: string;
  /** UUID of this process. */
  readonly process?: string;
  /** Called when the hello is sent. */
  readonly status: () => HostStatus;
}

/** A tunnel that the proxy has welcomed. */
export interface OpenedTunnel {
  readonly connection: SshConnection;
  readonly transport: Duplex & { readonly bytesRead: number };
  readonly control: Duplex;
  readonly welcome: Welcome;
  /** Contents of the hello. */
  readonly status: HostStatus;
  readonly labels: Labels;
}

export interface OpenTunnelOptions {
  readonly target: TunnelAddress;
  readonly credentials: HostCredentials;
  readonly facts: AgentFacts;
  readonly dial: DialOptions;
  /** Called with the id of the authenticated proxy; throws to stop. */
  readonly claim?: (proxyId: string) => void;
  /** Called for each channel that the proxy opens, from the first moment on. */
  readonly onStream: (channel: Duplex) => void;
  /** Ends the tunnel, at any time. */
  readonly signal: AbortSignal;
}

/** Timeout for the SSH handshake, and for each answer after it, ms. */
const handshakeMs = 15_000;

/** Dials, authenticates both ends by their host certificates, requests streams and sends hello. Throws PlatformError. */
export async function openTunnel(options: OpenTunnelOptions): Promise<OpenedTunnel> {
  const { target, credentials, signal } = options;
  const dialOptions = { ...options.dial, signal };
  const tls = { alpn: [alpn.tunnel], servername: roleServerName("proxy"), ca: credentials.hostCaPem };
  const transport = target.tls ? await dialWebPortTls(target.address, tls, dialOptions) : await dial(target.address, dialOptions);
  const connection = await connectSsh({
    stream: transport,
    username: credentials.hostId,
    privateKey: fromOpensshPrivate(credentials.sshPrivateKey),
    certificate: parseCertificateLine(credentials.sshCertificate).blob,
    hostAuthorities: credentials.hostCaSsh,
    checkHost: (certificate) => options.claim?.(checkProxy(certificate, credentials.cluster)),
    timeoutMs: handshakeMs,
    signal,
  });
  try {
    connection.on("tcp connection", (details, accept, reject) => {
      if (details.destIP === tunnelChannels.stream) options.onStream(accept());
      else reject();
    });
    await requestStreams(connection);
    const control = await openChannel(connection, tunnelChannels.control);
    const { hostname, services, version, process } = options.facts;
    const labels = options.facts.labels();
    const status = options.facts.status();
    control.write(encodeTunnelMessage({ type: "hello", hostname, labels, services: [...services], version, process, status }));
    return { connection, transport, control, status, labels, welcome: await readWelcome(control, signal) };
  } catch (thrown) {
    connection.end();
    transport.destroy();
    throw thrown;
  }
}

/** Id of the proxy. The other end must be a proxy of this cluster; no other host may be, although the same authority signed for it. */
function checkProxy(certificate: SshCertificate, cluster: string): string {
  const identity = fromSshCertificate(certificate);
  if (identity.kind === "host" && identity.role === "proxy" && identity.cluster === cluster) return identity.id;
  throw new PlatformError("unauthenticated", "the other end of the tunnel is not a proxy of this cluster");
}

function requestStreams(connection: SshConnection): Promise<void> {
  return answered("the proxy did not accept streams", (done) => {
    connection.forwardIn(tunnelChannels.stream, 1, (error) => done(error ?? undefined));
  });
}

/** Opens a direct-tcpip channel by its name. Throws `unavailable` or `timeout`. */
export function openChannel(connection: SshConnection, name: string): Promise<Duplex> {
  return answered(`the proxy did not open channel ${name}`, (done) => {
    connection.forwardOut("127.0.0.1", 0, name, 0, (error, channel) => {
      channel?.on("error", () => {});
      done(error, channel);
    });
  });
}

function answered<T>(what: string, ask: (done: (error: Error | undefined, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new PlatformError("timeout", `${what} within ${handshakeMs / 1000} s`)), handshakeMs);
    const fail = (cause: unknown): void => {
      clearTimeout(timer);
      reject(new PlatformError("unavailable", what, { cause }));
    };
    try {
      ask((error, value) => {
        clearTimeout(timer);
        if (error) fail(error);
        else resolve(value);
      });
    } catch (thrown) {
      // ssh2 throws when the connection is already closed.
      fail(thrown);
    }
  });
}

/** Timeout for the proxy's first answer, ms. */
const welcomeMs = 15_000;

type Welcome = Extract<ProxyMessage, { type: "welcome" }>;

/** Waits for the proxy's `welcome`; its `refused` is thrown as the error that it carries. */
async function readWelcome(channel: Duplex, signal: AbortSignal): Promise<Welcome> {
  const body = await readFrame(channel, { maxLength: maxTunnelMessage, timeoutMs: welcomeMs, what: "proxy's welcome", signal });
  const message = decodeProxyMessage(body);
  if (message.type === "welcome") return message;
  if (message.type === "refused") throw new PlatformError(message.code, `the proxy refused the tunnel: ${message.message}`, { hint: message.hint });
  throw new PlatformError("invalid", `the proxy began with ${message.type} instead of welcome`);
}
