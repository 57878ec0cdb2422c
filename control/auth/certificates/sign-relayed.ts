import { authorize } from "../../../core/access/authorize.ts";
import { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromSshCertificate, opensshHostCertificate } from "../../../core/identity/ssh-identity.ts";
import { recordedAt } from "../../../core/resources/recording.ts";
import { parseCertificate, type SshCertificate } from "../../../core/ssh/certificate.ts";
import { checkCertificate } from "../../../core/ssh/check-certificate.ts";
import { verifyBlob } from "../../../core/ssh/signature.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/open-authorities.ts";
import type { Actor } from "../document.ts";
import { getAnyNode } from "../inventory/all-nodes.ts";
import { namesOfDirectHost } from "../inventory/direct-hosts.ts";
import { findUser } from "../users/users.ts";

/** The host that a recording proxy impersonates. */
export interface RelayedAsk {
  /** Id of a node, or name of a node without an agent. */
  readonly host: string;
  /** The proxy's own key. */
  readonly sshPublicKey: string;
  readonly actor: Actor;
}

/** Validity, ms: a proxy caches it for the hosts in use, and requests it again. */
const hostValidityMs = 3_600_000;

/** A certificate line with which a proxy acts as a host towards users. Throws `denied` where proxies do not record. */
export async function signRelayedHost(context: AuthContext, { host, sshPublicKey, actor }: RelayedAsk): Promise<string> {
  requireRelaying(context);
  const { metadata, spec } = await getAnyNode(context, host);
  const now = context.now();
  const validBefore = new Date(now.getTime() + hostValidityMs);
  const names = [...new Set([spec.hostname, ...(await namesOfDirectHost(context.storage, metadata.name))])];
  const fields = opensshHostCertificate({ id: metadata.name, names, cluster: context.clusterName, validBefore });
  const line = context.authorities.issueSsh("host", fields, { sshPublicKey, now });
  const expires = validBefore.toISOString();
  context.audit.emit({ event: "cert.create", user: actor.name, name: spec.hostname, kind: "host", expires, "addr.remote": actor.address });
  return line;
}

export interface RelayedUserAsk extends RelayedAsk {
  /** The data that the user signed to log in at the proxy (RFC 4252 section 7), and the signature. */
  readonly proof: Uint8Array;
  readonly signature: Uint8Array;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
}

/**
 * A certificate for the proxy's key in the name of a user who has just proven possession of a certified key at the proxy: for this one
 * login, and valid as long as the user's. The host checks it like the user's own. Throws `unauthenticated`, `denied`; `limit` where the user has had too many
 * certificates of this kind.
 */
export async function signRelayedUser(context: AuthContext, ask: RelayedUserAsk): Promise<string> {
  requireRelaying(context);
  const now = context.now();
  const clientIp = ipOf(ask.clientAddress);
  const { login, certificate } = readProof(ask);
  const { userCaSsh: authorities } = trustedKeys(context.authorities);
  checkCertificate(certificate, { type: "user", authorities, principal: login, now, ...(clientIp !== "" && { clientAddress: clientIp }) });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "user") throw new PlatformError("unauthenticated", "only users log in through a proxy that records");
  if ((await findUser(context, identity.name)) === undefined) throw new PlatformError("unauthenticated", `user ${identity.name} was removed`);
  context.quotas.connectionOf(identity.name, "ssh");
  const { metadata, spec } = await getAnyNode(context, ask.host);
  const node = { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} };
  const roles = await rolesNamed(context.storage, identity.roles);
  authorize({ identity, roles, locks: await listLocks(context.storage), ask: { kind: "ssh", node, login }, clientIp, now });
  const { keyId, extensions, criticalOptions, validBefore } = certificate;
  const fields = { type: "user", keyId, principals: [login], extensions, criticalOptions, validBefore } as const;
  const line = context.authorities.issueSsh("user", fields, { sshPublicKey: ask.sshPublicKey, now });
  const expires = validBefore.toISOString();
  context.audit.emit({ event: "cert.create", user: ask.actor.name, name: identity.name, kind: "user", expires, "addr.remote": ask.actor.address });
  return line;
}

function requireRelaying({ sessionRecording }: AuthContext): void {
  if (recordedAt(sessionRecording)?.place === "proxy") return;
  throw new PlatformError("denied", `access denied: proxies do not record sessions in this cluster (session_recording: ${sessionRecording})`);
}

const userauthRequest = 50;

/** `string session id | u8 50 | string login | string "ssh-connection" | string "publickey" | bool true | string algorithm | string certificate`. */
function readProof({ proof, signature }: RelayedUserAsk): { readonly login: string; readonly certificate: SshCertificate } {
  const data = Buffer.from(proof);
  const reader = new Reader(data);
  reader.string();
  const type = reader.u8();
  const [login, service, method] = [reader.text(), reader.text(), reader.text()];
  const isSigned = reader.u8() === 1;
  reader.string();
  const certificate = parseCertificate(reader.string());
  reader.end("proof of a login");
  if (type !== userauthRequest || service !== "ssh-connection" || method !== "publickey" || !isSigned) {
    throw new PlatformError("invalid", "the proof is not of an SSH login with a public key");
  }
  if (verifyBlob({ key: certificate.key, data, signature: Buffer.from(signature) })) return { login, certificate };
  throw new PlatformError("unauthenticated", "the user did not sign this login");
}
