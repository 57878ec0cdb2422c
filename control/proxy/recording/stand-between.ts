import { type Duplex, duplexPair } from "node:stream";
import { authorize } from "../../../core/access/authorize.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { fromSshCertificate, type UserIdentity } from "../../../core/identity/identity.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import type { Authenticate } from "../../../core/ssh/answer-logins.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";
import { endWith, relayPackets } from "../../../core/ssh/relay-packets.ts";
import { connectSsh, type SshConnection } from "../../../core/ssh/ssh-client.ts";
import { acceptSsh } from "../../../core/ssh/ssh-server.ts";
import { watchTerminals } from "../../../core/ssh/watch-terminals.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamReply, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import type { AccessCache } from "../routing/access-cache.ts";
import { type RecordingServices, recordTerminals } from "./record-terminals.ts";
import type { StandInKeys } from "./stand-in-keys.ts";

export interface StandFacts {
  readonly identity: UserIdentity;
  /** Empty: not known yet. */
  readonly login: string;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  /** `principal`: what the certificate of the host itself must list. */
  readonly host: { readonly id: string; readonly name: string; readonly labels: Labels; readonly principal: string };
  readonly sessionId: string;
  readonly isSync: boolean;
}

export interface StandServices extends RecordingServices {
  readonly auth: Pick<AuthClient, "signRelayedUser">;
  readonly access: Pick<AccessCache, "current">;
  readonly keys: StandInKeys;
  /** What users' clients are offered; left out: the usual. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
}

/** For the host's reply, and for its login, ms: together less than a client waits. */
const [replyMs, loginMs] = [10_000, 15_000] as const;
/** From our last byte to the end of a stream. */
const lingerMs = 3_000;
/** The two ends ask each other whether they are there. */
const silent = { intervalMs: 0, missed: 0 } as const;

/**
 * Stands between a user and a host, so that terminals are recorded here: SSH of the user ends at this proxy, which logs in to the host in the
 * user's name with a certificate that the auth service gives it for the user's own proof. `channel` is to the host, whose reply to the stream request
 * is the next on it; the result is what the client is given in its place. Both ends speak to each other as if nobody were between them.
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
    services.log.info("a recorded connection was refused", { user: facts.identity.name, host: facts.host.id, error: errorText(thrown) });
    near.destroy();
  });
  return client;
}

/** What is on its way still arrives. */
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
  /** A role of the user says so (record_session: strict). */
  readonly isStrict: boolean;
}

async function serve({ near, channel, keys, hostCaSsh }: Between, facts: StandFacts, services: StandServices): Promise<void> {
  const { signal } = services;
  let host: ReachedHost | undefined;
  const authenticate: Authenticate = async (attempt, proof) => {
    const identity = fromSshCertificate(attempt.certificate);
    if (identity.kind !== "user" || identity.name !== facts.identity.name) {
      throw new PlatformError("denied", `access denied: the certificate is not ${facts.identity.name}'s, who opened this connection`);
    }
    if (facts.login !== "" && facts.login !== attempt.username) {
      throw new PlatformError("denied", `access denied: ${facts.login} was asked for, and ${attempt.username} is tried`);
    }
    if (host !== undefined || channel.destroyed) throw new PlatformError("denied", "the host has refused this connection already");
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
  if (host === undefined) throw new PlatformError("internal", "a client was let in without a host");
  // Nothing is awaited from here to the relay: the next message is its own.
  const { connection: far, login } = host;
  const { id: serverId, name: serverName } = facts.host;
  const who = { user: facts.identity.name, login, server_id: serverId, server_name: serverName, clientAddress: facts.clientAddress };
  const end = (why: PlatformError): void => {
    services.log.info("a recorded connection ends", { user: who.user, host: serverId, error: errorText(why) });
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
  const { roles, locks } = await access.current();
  const node = { id: host.id, name: host.name, labels: host.labels };
  return authorize({ identity, roles, locks, ask: { kind: "ssh", node, login }, clientIp: ipOf(clientAddress), now: now() }).rules.strictRecording;
}
