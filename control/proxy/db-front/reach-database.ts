import { generateKeyPairSync } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import { enterServed } from "../../../core/transport/enter-served.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage, type StreamRequest } from "../../../core/transport/stream-request.ts";
import { openServed } from "../routing/open-served.ts";
import { auditRefusal } from "../routing/open-stream.ts";
import type { ChosenHost } from "../routing/routing-services.ts";
import type { FrontServices } from "./front.ts";

/** A client of a database port whose TLS ends at this proxy. */
export interface FrontClient {
  readonly tls: TLSSocket;
  readonly protocol: DbProtocol;
  /** `ip:port` of the client. */
  readonly peer: string;
  /** Parameter `at` of the request. */
  readonly at: string;
}

/** Time limit of the agent's first reply, ms. */
const replyMs = 15_000;

/**
 * The way to the database that the client's certificate is for: TLS that ends at an agent, by a certificate of a fresh key that the auth service signs
 * for this connection alone. Nothing is kept, so that no revocation is outlived. A refusal is recorded here, or by the agent. Throws PlatformError.
 */
export async function reachDatabase(client: FrontClient, services: FrontServices): Promise<TLSSocket> {
  const { hostCaPem } = await services.access.current();
  const { request, channel, user } = await routed(client, services);
  try {
    const reply = decodeStreamReply(
      await readFrame(channel, { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "agent's reply", signal: services.signal }),
    );
    if (!reply.ok) throw reply.error;
    const agent = await enterServed(channel, { request, user, hostCaPem });
    if (!client.tls.destroyed) return agent;
    agent.destroy();
    throw new PlatformError("unavailable", "the client has left");
  } catch (thrown) {
    channel.destroy();
    throw thrown;
  }
}

interface Routed {
  readonly request: StreamRequest<"db">;
  readonly channel: Duplex;
  readonly user: { readonly certificate: string; readonly privateKey: string };
}

/** What control decides. Every refusal is in the audit log. */
async function routed(client: FrontClient, services: FrontServices): Promise<Routed> {
  const { tls, protocol, peer: clientAddress, at } = client;
  let identity: UserIdentity | undefined;
  let request: StreamRequest<"db"> | undefined;
  let channel: Duplex | undefined;
  try {
    const certificate = peerCertificate(tls) ?? Buffer.alloc(0);
    identity = await identified(certificate, services);
    const { name: target, account: user } = databaseOf(identity);
    request = { kind: "db", target, parameters: { user, name: "", host: "", at }, clientAddress: "", sessionId: "", accessRevision: "" };
    const chosen: ChosenHost = { host: undefined };
    channel = await openServed({ identity, request, clientAddress }, services, chosen);
    const hostId = chosen.host?.identity.id ?? "";
    requireProtocol({ name: target, hostId, protocol }, services);
    return { request, channel, user: await relayedUser({ certificate, hostId, clientAddress }, services) };
  } catch (thrown) {
    channel?.destroy();
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity?.name, request }, services);
    throw error;
  }
}

const hint = "get a certificate with: tsh db login <name>; or use: tsh proxy db <name>";

/** Throws `unauthenticated`. */
async function identified(certificate: Buffer, { access, cluster, now }: FrontServices): Promise<UserIdentity> {
  const { userCaPem: authorities } = await access.current();
  return certifiedIdentity("user", { certificate: certificate.length > 0 ? certificate : undefined, authorities, cluster, now: now() }, hint);
}

/** The one database and account of a certificate. Throws `denied` for another certificate. */
function databaseOf({ name: user, route }: UserIdentity): { readonly name: string; readonly account: string } {
  if (route?.kind === "db" && route.account !== undefined) return { name: route.name, account: route.account };
  throw new PlatformError("denied", `access denied: the certificate of ${user} is not for one database and one account`, { hint });
}

interface Meant {
  readonly name: string;
  readonly hostId: string;
  readonly protocol: DbProtocol;
}

/** Throws `denied` for a database of another protocol. */
function requireProtocol({ name, hostId, protocol }: Meant, { registry }: FrontServices): void {
  const offer = registry.offering("db", name).find(({ tunnel }) => tunnel.identity.id === hostId);
  const spoken = offer?.offered.details?.protocol;
  if (spoken === undefined || spoken === protocol) return;
  throw new PlatformError("denied", `access denied: this port is for ${protocol}, and database ${name} speaks ${spoken}`, {
    hint: `\`tsh db config ${name}\` shows its port`,
  });
}

interface Presented {
  readonly certificate: Buffer;
  readonly hostId: string;
  readonly clientAddress: string;
}

/** A fresh key, and a certificate for it in the user's name. Throws the refusal of the auth service. */
async function relayedUser({ certificate, hostId, clientAddress }: Presented, { auth }: FrontServices): Promise<Routed["user"]> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const tlsPublicKey = publicKey.export({ type: "spki", format: "pem" }).toString();
  const { tlsCertificate } = await auth.signRelayedDatabase({ userCertificate: new Uint8Array(certificate), hostId, tlsPublicKey, clientAddress });
  return { certificate: tlsCertificate, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}
