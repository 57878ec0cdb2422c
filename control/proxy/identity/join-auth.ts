import { isIP } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type AuthClientOptions, type AuthConnection, connectAuthTls, openAuthClient } from "../../../core/api/auth-client.ts";
import { loadCredentials, saveCredentials } from "../../../core/api/credential-store.ts";
import { type HostCredentials, joinHost, renewHost } from "../../../core/api/host-credentials.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import { dial } from "../../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import { relay } from "../../../core/transport/relay.ts";
import { encodeRelayHeader } from "../../../core/transport/relay-header.ts";
import { version } from "../../../core/versions/version.ts";
import type { ProxyConfig } from "../../config.ts";
import { wait } from "../wait.ts";
import { RenewingCredentials } from "./renewing-credentials.ts";

export interface RemoteAuth {
  readonly credentials: RenewingCredentials;
  readonly connection: AuthConnection;
  /** Passes a stream to the auth service on its host. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
}

export interface JoinAuthDeps {
  readonly log: Log;
  readonly env: Env;
  readonly now: () => Date;
}

/**
 * The auth service on another host, as seen by a proxy: joins with the token at first, then uses the stored credentials.
 * Retries the join while the auth service is unreachable. Throws PlatformError for failures that waiting does not fix.
 */
export async function joinAuth(config: ProxyConfig, deps: JoinAuthDeps, signal: AbortSignal): Promise<RemoteAuth> {
  const server = config.authServer;
  if (server === undefined) {
    throw new PlatformError("invalid", "the proxy service needs an auth service", {
      hint: "enable auth_service in this configuration, or set platform.auth_server, auth_token and ca_pin",
    });
  }
  const open = (): Promise<Duplex> => dial(server, { env: deps.env, signal });
  const file = join(config.dataDir, "proxy", "credentials.json");
  const first = (await loadCredentials(file)) ?? (await joinUntilDone({ config, server, open, file }, deps, signal));
  let held: HostCredentials = first;
  // Read at each connection: a renewal is used from the next one on.
  const asProxy: AuthClientOptions = {
    open,
    get ca() {
      return held.hostCaPem;
    },
    get credentials() {
      return { certificate: held.tlsCertificate, privateKey: held.tlsPrivateKey };
    },
  };
  const connection = openAuthClient(asProxy);
  let storing: Promise<void> = Promise.resolve();
  // One after the other: the last write wins.
  const keep = async (credentials: HostCredentials): Promise<void> => {
    held = credentials;
    storing = storing.catch(() => {}).then(() => saveCredentials(file, credentials));
    await storing;
  };
  const renew = async (credentials: HostCredentials): Promise<HostCredentials> => {
    const names = proxyHostNames(config);
    const refused = (why: string): void => deps.log.warn("the certificate of this proxy lacks a name from its configuration", { why });
    const renewed = await renewHost(connection.client, { credentials, hostname: config.nodename, names, refused });
    await keep(renewed);
    return renewed;
  };
  const credentials = new RenewingCredentials({ first, renew, keep, log: deps.log, now: deps.now });
  credentials.onRenewed(() => connection.renew());
  return { credentials, connection, relayAuth: relayTo(asProxy, deps.log, signal) };
}

interface Joining {
  readonly config: ProxyConfig;
  readonly server: HostPort;
  readonly open: () => Promise<Duplex>;
  readonly file: string;
}

async function joinUntilDone({ config, server, open, file }: Joining, { log }: JoinAuthDeps, signal: AbortSignal): Promise<HostCredentials> {
  const { token, caPins: pins } = config;
  if (token === undefined || pins.length === 0) {
    throw new PlatformError("invalid", "this proxy has not joined the cluster yet, and a token or CA pin is missing", {
      hint: "set platform.auth_token (create one with `tctl tokens add --type=proxy`) and platform.ca_pin",
    });
  }
  for (let failures = 1; ; failures += 1) {
    try {
      const about = { hostname: config.nodename, names: proxyHostNames(config), labels: {}, services: ["proxy"], version };
      const credentials = await joinHost({ open, trust: { pins }, token, role: "proxy", ...about });
      await saveCredentials(file, credentials);
      log.info("proxy joined the cluster", { cluster: credentials.cluster, id: credentials.hostId });
      return credentials;
    } catch (thrown) {
      const passing = thrown instanceof PlatformError && (thrown.code === "unavailable" || thrown.code === "timeout");
      if (!passing || signal.aborted) throw thrown;
      log.warn("could not reach the auth service; retrying the join soon", { auth_server: formatHostPort(server), error: thrown });
    }
    await wait(backOffDelay(failures, Math.random()), signal);
    signal.throwIfAborted();
  }
}

/** The auth service learns the client's address from this proxy's certificate, and speaks TLS with the client inside the connection. */
function relayTo(asProxy: AuthClientOptions, log: Log, signal: AbortSignal): RemoteAuth["relayAuth"] {
  return (stream, remoteAddress) => {
    stream.on("error", () => {});
    connectAuthTls(asProxy, [alpn.authRelay])
      .then((tls) => {
        tls.write(encodeRelayHeader({ clientAddress: remoteAddress.slice(0, 128) }));
        return relay(stream, tls, { signal });
      })
      .catch((error: unknown) => {
        log.warn("could not relay a connection to the auth service", { peer: remoteAddress, error });
        stream.destroy();
      });
  };
}

/** Names for the proxy's certificates besides its node name: its public addresses, the domain of applications, and those of this host. */
export function proxyHostNames(config: ProxyConfig): readonly string[] {
  const databases = Object.values(config.databases ?? {}).map(({ publicAddr }) => publicAddr);
  const addresses = [config.publicAddr, config.sshPublicAddr, config.tunnelPublicAddr, config.kubePublicAddr, config.webListen, ...databases];
  const hosts = addresses.flatMap((address) => address?.host ?? []).filter((host) => !(isIP(host) !== 0 && isUnspecified(host)));
  const apps = config.appsDomain === undefined ? [] : [config.appsDomain];
  return [...new Set([...hosts, ...apps, "localhost", "127.0.0.1"])].filter((name) => name !== config.nodename);
}

function isUnspecified(address: string): boolean {
  return /^[0:.]+$/.test(address);
}
