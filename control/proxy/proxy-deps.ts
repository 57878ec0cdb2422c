import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload, WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { HostCredentialsSource } from "./identity/current-identity.ts";
import type { UpgradeLimit } from "./versions/open-version-server.ts";

export type ListenerMode = "multiplex" | "separate";

/** Dependencies of a proxy, besides its configuration. */
export interface ProxyDeps {
  readonly log: Log;
  /** API client of this proxy (host role `proxy`). */
  readonly auth: AuthClient;
  readonly credentials: HostCredentialsSource;
  /** Passes a stream to the auth service's TLS listener: in this process, or over the network. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** Left out: the auth service has not answered yet; until it does, the configured listeners apply. */
  readonly listenerMode?: ListenerMode | undefined;
  /** The auth service is in another process: its mode is requested at each connection to it. */
  readonly followsMode?: boolean | undefined;
  readonly sockets: ListenSockets;
  /** State of the process that this one replaces. */
  readonly certificatesInUse?: readonly WebCertificate[] | undefined;
  /** The last reload, if it failed. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  /** Left out: no HTTP proxy is used. */
  readonly env?: Env | undefined;
  /** Trusted authorities for upstream version servers, PEM, instead of this machine's. */
  readonly upstreamCa?: readonly string[] | undefined;
  /** For measurements; the default is meant for production. */
  readonly upgradeLimit?: UpgradeLimit | undefined;
  readonly now?: () => Date;
  readonly clock?: () => number;
}
