import { type Duplex, duplexPair } from "node:stream";
import { authorize } from "../../../core/access/authorize.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import type { Authenticate } from "../../../core/ssh/answer-logins.ts";
import { parseCertificateLine, type SshCertificate } from "../../../core/ssh/certificate.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";
import { endWith, relayPackets } from "../../../core/ssh/relay-packets.ts";
import { connectSsh, type SshConnection } from "../../../core/ssh/ssh-client.ts";
import { acceptSsh } from "../../../core/ssh/ssh-server.ts";
import { watchTerminals } from "../../../core/ssh/watch-terminals.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamReply, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import type { AccessCache } from "../routing/access-cache.ts";
import { type RecordingServices, recordTerminals } from "./record-terminals.ts";

export interface StandFacts {
  readonly identity: UserIdentity;
  /** Empty: not known yet. */
  readonly login: string;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  /** `principal`: name that the host's own certificate must list. */
  readonly host: { readonly id: string; readonly name: string; readonly labels: Labels; readonly principal: string };
  readonly sessionId: string;
  readonly isSync: boolean;
}

export interface StandServices extends RecordingServices {
  readonly auth: Pick<AuthClient, "signRelayedUser">;
  readonly access: Pick<AccessCache, "current" | "forUser">;
  readonly keys: StandInKeys;
  /** Algorithms offered to users' clients; left out: the default. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
}

/** Time limits of the host's reply, and of its login, ms: together less than a client's timeout. */
const [replyMs, loginMs] = [10_000, 15_000] as const;
/** Time from our last byte to the end of a stream, ms. */
const lingerMs = 3_000;
/** The two ends send each other keepalives. */
const silent = { intervalMs: 0, missed: 0 } as const;

/**
 * Relays between a user and a host to record terminals here: the user's SSH connection ends at this proxy, which logs in to the host in the
 * user's name with a certificate that the auth service issues for the user's own proof. `channel` is to the host, whose reply to the stream request
 * comes next on it; the result is the stream for the client in its place. Both ends communicate as if there were no relay.
 */
export async function standBetween(channel: Duplex, facts: StandFacts, services: StandServices): Promise<Duplex> {
  const frame = await readFrame(channel, { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "agent's reply", signal: services.signal });
  const reply = decodeStreamReply(frame);
  const { hostCaSsh } = await services.access.current();
  const keys = await services.keys.of(facts.host.id, hostCaSsh[0] ?? "");
  const [client, near] = duplexPair();
  near.write(encodeStreamReply(reply));
  if (!reply.ok) {
    near.end();
    channel.destroy();
    return client;
  }
  channel.once("close", () => endInTime(near));
  near.once("close", () => endInTime(channel));
  client.once("close", () => near.destroy());
  serve({ near, channel, keys, hostCaSsh }, facts, services).catch((thrown: unknown) => {
    services.log.info("recorded connection refused", { user: facts.identity.name, host: facts.host.id, error: errorText(thrown) });
    near.destroy();
  });
  return client;
}

/** Data in flight still arrives. */
function endInTime(stream: Duplex): void {
  stream.end();
  const timer = setTimeout(() => stream.destroy(), lingerMs);
  stream.once("close", () => clearTimeout(timer));
}

interface Between {
  /** To the user, and to the host. */
  readonly near: Duplex;
  readonly channel: Duplex;
  readonly keys: Awaited<ReturnType<StandInKeys["of"]>>;
  readonly hostCaSsh: readonly string[];
}

interface ReachedHost {
  readonly connection: SshConnection;
  readonly login: string;
  /** Required by a role of the user (record_session: strict). */
  readonly isStrict: boolean;
}

async function serve({ near, channel, keys, hostCaSsh }: Between, facts: StandFacts, services: StandServices): Promise<void> {
  const { signal } = services;
  let host: ReachedHost | undefined;
  const authenticate: Authenticate = async (attempt, proof) => {
    const identity = fromSshCertificate(attempt.certificate);
    if (identity.kind !== "user" || identity.name !== facts.identity.name) {
      throw new PlatformError("denied", `access denied: the certificate is not of ${facts.identity.name}, who opened this connection`);
    }
    if (facts.login !== "" && facts.login !== attempt.username) {
      throw new PlatformError(
        "denied",
        `access denied: the session was opened for login ${facts.login}, but SSH authenticated as ${attempt.username}`,
      );
    }
    if (host !== undefined || channel.destroyed) throw new PlatformError("denied", "the host has already refused this connection");
    const login = attempt.username;
    const isStrict = await mustBeRecorded(facts, login, services);
    const own = generateSshKey();
    const ask = { host: facts.host.id, sshPublicKey: own.publicLine, clientAddress: facts.clientAddress };
    const { sshCertificate } = await services.auth.signRelayedUser({ ...ask, proof: proof.data, signature: proof.signature });
    const { blob: certificate } = parseCertificateLine(sshCertificate);
    const to = { stream: channel, username: login, privateKey: own.privateKey, certificate };
    const connection = await connectSsh({
      ...to,
      hostAuthorities: hostCaSsh,
      principal: facts.host.principal,
      keepalive: silent,
      timeoutMs: loginMs,
      signal,
    });
    host = { connection, login, isStrict };
  };
  const { connection } = await acceptSsh({ stream: near, ...keys, algorithms: services.algorithms, keepalive: silent, signal, authenticate });
  if (host === undefined) throw new PlatformError("internal", "a client was accepted without a host");
  // No await from here to the relay: the next message belongs to it.
  const { connection: far, login } = host;
  const { id: serverId, name: serverName } = facts.host;
  const who = { user: facts.identity.name, login, server_id: serverId, server_name: serverName, clientAddress: facts.clientAddress };
  const end = (why: PlatformError): void => {
    services.log.info("recorded connection ended", { user: who.user, host: serverId, error: errorText(why) });
    far.end();
    endWith(connection, watched.endings(`\r\nplatform: ${why.message}\r\n`));
  };
  const recorded = { ...who, connection: facts.sessionId, isStrict: facts.isSync || host.isStrict, isSync: facts.isSync };
  const watched = watchTerminals(recordTerminals(recorded, services, end));
  try {
    await relayPackets(connection, far, watched);
  } finally {
    watched.end();
  }
}

async function mustBeRecorded({ identity, host, clientAddress }: StandFacts, login: string, { access, now }: StandServices): Promise<boolean> {
  const { roles, locks } = await access.forUser(identity);
  const node = { id: host.id, name: host.name, labels: host.labels };
  return authorize({ identity, roles, locks, ask: { kind: "ssh", node, login }, clientIp: ipOf(clientAddress), now: now() }).rules.strictRecording;
}

/** Maximum number of cached certificates; the least recently requested one is dropped first. */
const mostKept = 1_000;
/** Time before its expiry when a certificate is no longer used, ms. */
const spareMs = 600_000;

/** Keys with which this proxy acts as a host: one key, and a certificate of it for each host. */
export class StandInKeys {
  readonly #options: { readonly auth: Pick<AuthClient, "signRelayedHost">; readonly now: () => Date };
  readonly #own = generateSshKey();
  readonly #kept = new Map<string, Promise<SshCertificate>>();

  constructor(options: { readonly auth: Pick<AuthClient, "signRelayedHost">; readonly now: () => Date }) {
    this.#options = options;
  }

  /** `authority`: the key that signs host certificates now: a certificate of another key is requested again. Throws the auth service's refusal. */
  async of(host: string, authority: string) {
    const name = `${authority} ${host}`;
    let certificate = this.#kept.get(name);
    if (certificate !== undefined && (await this.#isOld(certificate))) certificate = undefined;
    certificate ??= this.#ask(host);
    this.#kept.delete(name);
    this.#kept.set(name, certificate);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return { hostKey: this.#own.privateKey, hostCertificate: (await certificate).blob };
    } catch (thrown) {
      this.#kept.delete(name);
      throw thrown;
    }
  }

  async #isOld(certificate: Promise<SshCertificate>): Promise<boolean> {
    const known = await certificate.catch(() => undefined);
    return known === undefined || known.validBefore.getTime() - spareMs <= this.#options.now().getTime();
  }

  async #ask(host: string): Promise<SshCertificate> {
    const { sshCertificate } = await this.#options.auth.signRelayedHost({ host, sshPublicKey: this.#own.publicLine });
    return parseCertificateLine(sshCertificate);
  }
}
