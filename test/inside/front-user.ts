import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { openAuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import type { ServedKind } from "../../core/kinds/service-kinds.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { TestCluster } from "./open-cluster.ts";
import { generateKeys } from "./user-keys.ts";

/** The two ends of a proxy's front for clients with certificates: the client, and the agent behind. */

export interface Presented {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface Route {
  readonly routeKind?: string;
  readonly routeName?: string;
  readonly routeAccount?: string;
  readonly ttlSeconds?: number;
}

/** Makes certificates for one resource; of `ann`, who has the role `dev`, and of others, who have the role `none`. */
export function certificatesFor(cluster: TestCluster, usual: Route): (route?: Route, user?: string) => Promise<Presented> {
  const users = new Map<string, Presented>();
  return async (route = {}, name = "ann") => {
    const known = users.get(name) ?? (await logIn(cluster, name));
    users.set(name, known);
    const keys = generateKeys();
    using client = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials: known });
    const { tlsCertificate } = await client.client.signOwnUser({ ...usual, tlsPublicKey: keys.tlsPublicKey, ...route });
    return { certificate: tlsCertificate, privateKey: keys.tlsPrivateKey };
  };
}

async function logIn(cluster: TestCluster, name: string): Promise<Presented> {
  const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await cluster.login(name, { roles: [name === "ann" ? "dev" : "none"] });
  return { certificate, privateKey };
}

export interface FrontOptions extends ConnectionOptions {
  /** Default: to the proxy's web port. */
  readonly open?: () => Promise<Duplex>;
}

/** TLS to a port of the proxy under this name, verified by the cluster's authority. */
export async function connectFront(
  cluster: TestCluster,
  servername: string,
  presented: Presented | undefined,
  { open = cluster.open, ...more }: FrontOptions = {},
): Promise<TLSSocket> {
  const own = presented === undefined ? {} : { cert: presented.certificate, key: presented.privateKey };
  const tls = connectTls({ socket: await open(), servername, ca: [...cluster.hostCaPem], ALPNProtocols: ["h2", "http/1.1"], ...own, ...more });
  tls.on("error", () => {});
  await once(tls, "secureConnect");
  return tls;
}

export interface Arrived {
  readonly tls: TLSSocket;
  /** The request inside the user's TLS. */
  readonly own: StreamRequest;
  /** Of the certificate that the proxy presented. */
  readonly user: UserIdentity;
}

/** Accepts a stream of this kind as an agent does, but for its own decision. Throws for a certificate that is not a user's. */
export async function acceptFront(channel: Duplex, credentials: HostCredentials, kind: ServedKind): Promise<Arrived> {
  channel.write(encodeStreamReply({ ok: true }));
  const tls = await terminateTls(channel, { context: hostContext(credentials), alpn: alpn.service, requestCertificate: true });
  tls.on("error", () => {});
  const frame = { maxLength: 16_384, timeoutMs: 5_000, what: "frame" };
  // The proof of the session comes first.
  if (kind === "db") await readFrame(tls, frame);
  const own = decodeStreamRequest(await readFrame(tls, frame));
  const certificate = tls.getPeerX509Certificate();
  const user = certificate && fromX509Certificate(new X509Certificate(certificate.raw));
  if (own.kind !== kind || user?.kind !== "user") throw new Error(`not a user's request for a stream of kind ${kind}`);
  return { tls, own, user };
}
