import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload, WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { HostCredentialsSource } from "./identity/current-identity.ts";
import type { UpgradeLimit } from "./versions/open-version-server.ts";

export type ListenerMode = "multiplex" | "separate";

/** What a proxy is opened with, besides its configuration. */
export interface ProxyDeps {
  readonly log: Log;
  /** Calls as this proxy (host role `proxy`). */
  readonly auth: AuthClient;
  readonly credentials: HostCredentialsSource;
  /** Hands a stream to the auth service's TLS listener: in this process, or over the network. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** Left out: the auth service has not answered yet; until it does, the configured listeners tell. */
  readonly listenerMode?: ListenerMode | undefined;
  /** The auth service is in another process: its mode is asked for at each connection to it. */
  readonly followsMode?: boolean | undefined;
  readonly sockets: ListenSockets;
  /** Of the process that this one is to replace. */
  readonly certificatesInUse?: readonly WebCertificate[] | undefined;
  /** The last reload, when it failed. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  /** Left out: nothing is dialled through an HTTP proxy. */
  readonly env?: Env | undefined;
  /** PEM: what upstream version servers are trusted by, in place of what this machine trusts. */
  readonly upstreamCa?: readonly string[] | undefined;
  /** For measurements; the default is what production needs. */
  readonly upgradeLimit?: UpgradeLimit | undefined;
  readonly now?: () => Date;
  readonly clock?: () => number;
}
