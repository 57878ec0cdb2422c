import type { SecureContext, TLSSocket } from "node:tls";
import { sayFarewell } from "../../../core/databases/say-farewell.ts";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { peerCertificate } from "../../../core/identity/x509-identity.ts";
import { terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import type { Arrival } from "../front-door.ts";
import type { WebCertificates } from "../identity/web-certificates.ts";
import type { NewConnection } from "../receive-socket.ts";
import { relayStream } from "../routing/relay-stream.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import type { AppSite } from "./app-sites.ts";
import { type ReachAppServices, reachApp } from "./reach-app.ts";
import { refusalBytes } from "./refusal-bytes.ts";

/** A client of an application that has presented no certificate: a browser, which has cookies. After its TLS handshake it speaks HTTP/1.1. */
export interface BrowserArrival extends Pick<NewConnection<TLSSocket>, "socket" | "peer"> {
  /** Application and host name that the TLS handshake named; requests for another host are not for this connection. */
  readonly site: AppSite;
}

/** Owns the socket from this call on. Never throws. */
export type ServeBrowser = (arrival: BrowserArrival) => void;

export interface AppFrontServices extends ReachAppServices {
  readonly certificates: Pick<WebCertificates, "chooseForApp">;
  readonly relaying: RelayedStreams;
  /** Left out: clients need a certificate. */
  readonly serveBrowser?: ServeBrowser | undefined;
}

/** HTTP/1.1 where the client speaks it: browsers share an HTTP/2 connection between hosts of one certificate. Clients of gRPC offer `h2` alone. */
const protocols = ["http/1.1", "h2"];

/**
 * Serves a TLS client at the host name of an application. With a certificate for that application its bytes, HTTP or not, go on to an agent as they are;
 * without one it is a browser's. Resolves once bytes flow or were refused. Throws as `terminateTls`.
 */
export async function serveAppClient(arrival: Arrival, site: AppSite, services: AppFrontServices): Promise<void> {
  const { peer } = arrival;
  const tls = await terminateTls(arrival.socket, { context: await contextFor(site, services), alpn: protocols, requestCertificate: true });
  tls.on("error", () => {});
  const isHttp2 = tls.alpnProtocol === "h2";
  if (peerCertificate(tls) === undefined && !isHttp2 && services.serveBrowser !== undefined) {
    arrival.established();
    return services.serveBrowser({ socket: tls, site, peer });
  }
  let agent: TLSSocket;
  try {
    agent = await reachApp({ tls, site, peer }, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") services.log.error("could not reach an application for a client with a certificate", { peer, error: thrown });
    return await sayFarewell(tls, refusalBytes(error, isHttp2), services.signal);
  }
  arrival.established();
  void relayStream(tls, agent, services);
}

/** The certificate for this host name. The client may present one of the cluster's users. */
async function contextFor({ host }: AppSite, { certificates, identity, access }: AppFrontServices): Promise<SecureContext> {
  const { userCaPem } = await access.current();
  return certificates.chooseForApp(host, userCaPem) ?? identity.current().apps;
}
