import type { Duplex } from "node:stream";
import type { Connection, ServerChannel, Session } from "ssh2";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import type { SshCertificate } from "../../../core/ssh/certificate.ts";
import { checkCertificate } from "../../../core/ssh/check-certificate.ts";
import { guardRefusals, prohibited, refuseChannel } from "../../../core/ssh/refusals.ts";
import { acceptSsh } from "../../../core/ssh/ssh-server.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { relay } from "../../../core/transport/relay.ts";
import { decodeStreamReply, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import type { KeptConnections } from "../kept-connections.ts";
import type { NewConnection } from "../receive-socket.ts";
import { wait } from "../wait.ts";
import type { ClientStreamServices } from "./client-stream.ts";
import { auditRefusal, openStream } from "./open-stream.ts";

export interface JumpServices extends ClientStreamServices {
  readonly kept: Pick<KeptConnections, "retired" | "add">;
  readonly clock: () => number;
}

const handshakeMs = 20_000;
/** Time limit of the agent's reply, ms. */
const replyMs = 15_000;
/** Time without a channel after which a connection is idle, and that to a replaced proxy ends, ms: a client opens its first one soon after its login. */
const idleMs = 5_000;
/** Maximum number of simultaneous channels of one connection. */
const maxChannels = 100;
const allowedPorts: readonly number[] = [0, 22, 3022];

/**
 * SSH server for stock clients that use the proxy as a jump host: it forwards to hosts of the cluster and does nothing else. Resolves once the client has asked for
 * its first channel, or is idle.
 */
export async function acceptJump({ socket, peer, established }: NewConnection, services: JumpServices): Promise<void> {
  const { sshKey, sshCertificate } = services.identity.current();
  socket.once("end", () => socket.end());
  const { connection, certificate } = await acceptSsh({
    stream: socket,
    hostKey: sshKey,
    hostCertificate: sshCertificate,
    algorithms: services.algorithms,
    handshakeTimeoutMs: handshakeMs,
    signal: services.signal,
    authenticate: async (attempt) => authenticateUser(attempt.certificate, peer, services),
  });
  established();
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "user") throw new PlatformError("internal", "a client of the jump host was accepted without a user identity");
  await Promise.race([serve(connection, { identity, peer }, services), wait(idleMs, services.signal)]);
}

/** Any user name is accepted: the certificate identifies the user, and the host checks the login. */
async function authenticateUser(certificate: SshCertificate, peer: string, services: ClientStreamServices): Promise<void> {
  try {
    const { userCaSsh } = await services.access.current();
    const clientAddress = ipOf(peer);
    checkCertificate(certificate, { type: "user", authorities: userCaSsh, now: services.now(), ...(clientAddress !== "" && { clientAddress }) });
    const identity = fromSshCertificate(certificate);
    if (identity.kind === "user" && identity.cluster === services.cluster) return;
    throw new PlatformError("unauthenticated", `the certificate is not of a user of cluster ${services.cluster}`, { hint: "log in with: tsh login" });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress: peer, user: certificate.keyId }, services);
    throw error;
  }
}

interface JumpClient {
  readonly identity: UserIdentity;
  readonly peer: string;
}

/** Resolves at the first channel, or the end. */
function serve(connection: Connection, client: JumpClient, services: JumpServices): Promise<void> {
  const { kept, clock } = services;
  const begun = Promise.withResolvers<void>();
  let channels = 0;
  let hasLeft = false;
  let usedAt = clock();
  const forget = kept.add(() => {
    if (channels > 0 || clock() - usedAt < idleMs) return;
    forget();
    connection.end();
  });
  connection.on("close", () => {
    hasLeft = true;
    forget();
    begun.resolve();
  });
  guardRefusals(connection, (error) => {
    auditRefusal({ error, clientAddress: client.peer, user: client.identity.name }, services);
    connection.end();
  });
  connection.on("error", (thrown) => {
    const { level } = thrown as { readonly level?: string };
    if (level === "client-socket" || level === "client-timeout") return;
    const error = toPlatformError(thrown);
    auditRefusal(
      { error: new PlatformError("invalid", thrown.message, { cause: error }), clientAddress: client.peer, user: client.identity.name },
      services,
    );
  });
  connection.on("request", (_accept, reject) => reject?.());
  connection.on("session", (accept) => refuseSession(accept()));
  connection.on("tcpip", (accept, reject, { destIP, destPort }) => {
    const refuse = (error: PlatformError): void => refuseChannel(connection, reject, prohibited(error));
    if (channels >= maxChannels) return refuse(new PlatformError("limit", `too many connections through this jump host (limit ${maxChannels})`));
    channels += 1;
    const relayed = openTarget({ target: destIP, port: destPort }, client, services)
      .then(async (stream) => {
        // Nothing would end a channel of a connection that is over.
        if (hasLeft) return void stream.destroy();
        const channel: Duplex = accept();
        channel.on("error", () => {});
        const release = services.running.extend(stream, channel);
        await relay(channel, stream, { signal: services.signal });
        release();
        usedAt = clock();
      })
      .catch((thrown: unknown) => refuse(kept.retired ? leftBehind(toPlatformError(thrown)) : toPlatformError(thrown)))
      .finally(() => {
        channels -= 1;
      });
    services.relaying.add(relayed);
    begun.resolve();
  });
  return begun.promise;
}

/** The refusal of a proxy that was replaced: a host that is not connected here is most likely connected to the new process. */
function leftBehind(error: PlatformError): PlatformError {
  if (error.code !== "not_found" && error.code !== "unavailable") return error;
  return new PlatformError("unavailable", `${error.message}; another process has taken over since this connection to the jump host began`, {
    cause: error,
    hint: "connect to the jump host again; `ssh -O exit <this proxy>` ends a shared connection",
  });
}

/** A stream that the agent accepted. */
async function openTarget(to: { target: string; port: number }, client: JumpClient, services: ClientStreamServices): Promise<Duplex> {
  const request = { kind: "ssh", target: to.target, parameters: { login: "" } } as const;
  if (!allowedPorts.includes(to.port)) {
    const error = new PlatformError("denied", `port ${to.port} of ${to.target} is not reachable through this jump host`, {
      hint: "it forwards to the SSH service of a host: leave the port out, or use 22",
    });
    auditRefusal({ error, clientAddress: client.peer, user: client.identity.name, request }, services);
    throw error;
  }
  const stream = await openStream({ identity: client.identity, request, clientAddress: client.peer }, services);
  try {
    const reply = decodeStreamReply(
      await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "agent's reply", signal: services.signal }),
    );
    if (!reply.ok) throw reply.error;
    return stream;
  } catch (thrown) {
    stream.destroy();
    throw thrown;
  }
}

const sentence = "This is a jump host: it has no shell. Connect to a host behind it: ssh -J <this proxy> <login>@<host>\r\n";

/** Answers a shell, command or subsystem on the jump host with a sentence and exit status 1. */
function refuseSession(session: Session): void {
  const answer = (accept: (() => ServerChannel) | undefined): void => {
    const channel = accept?.();
    if (channel === undefined) return;
    channel.on("error", () => {});
    channel.stderr.write(sentence);
    channel.exit(1);
    channel.end();
  };
  session.on("pty", (accept) => accept?.());
  session.on("shell", (accept) => answer(accept));
  session.on("exec", (accept) => answer(accept));
  session.on("subsystem", (accept) => answer(accept));
}
