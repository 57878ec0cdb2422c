import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { SshGrant } from "../../core/access/authorize.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { parseCertificateLine, type SshCertificate } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { acceptSsh } from "../../core/ssh/ssh-server.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { admit, ipOf } from "./admit.ts";
import type { SshDeps } from "./deps.ts";
import { serveConnection } from "./serve-connection.ts";
import type { UnixUser } from "./unix-user.ts";

/** From the reply to the authenticated user, ms. */
const handshakeMs = 30_000;

/** Serves one `ssh` stream: the user's SSH connection ends here. Resolves when it has ended; throws only before the reply. */
export async function serveSsh(stream: Duplex, request: StreamRequest, deps: SshDeps, signal: AbortSignal): Promise<void> {
  const access = await deps.access.at(request.accessRevision);
  const credentials = deps.credentials();
  let admitted: { grant: SshGrant; user: UnixUser; permitsPty: boolean } | undefined;
  const authenticate = async ({ username, certificate }: { username: string; certificate: SshCertificate }): Promise<void> => {
    try {
      const grant = judge({ username, certificate, access, request, deps });
      admitted = { grant, user: await deps.findUser(username), permitsPty: certificate.extensions.has("permit-pty") };
    } catch (thrown) {
      await recordRefusal({ thrown, username, certificate, request, deps });
      throw thrown;
    }
  };
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { connection } = await acceptSsh({
      stream,
      hostKey: fromOpensshPrivate(credentials.sshPrivateKey),
      hostCertificate: parseCertificateLine(credentials.sshCertificate).blob,
      authenticate,
      handshakeTimeoutMs: handshakeMs,
      signal,
    });
    if (admitted === undefined) throw new Error("a connection was accepted without a grant");
    await serveConnection(connection, { ...admitted, request, sessionRecording: access.sessionRecording, deps }, signal);
  } catch (thrown) {
    deps.log.info("ssh connection failed", { session: request.sessionId, client: request.clientAddress, error: thrown });
    stream.destroy();
  }
}

interface Attempt {
  readonly username: string;
  readonly certificate: SshCertificate;
  readonly request: StreamRequest;
  readonly deps: SshDeps;
}

function judge({ username, certificate, request, deps, access }: Attempt & { access: Access }): SshGrant {
  const { hostId, cluster } = deps.credentials();
  if (request.login !== "" && request.login !== username) {
    throw new PlatformError("denied", `access denied: ${request.login} was asked for, and ${username} is tried`);
  }
  const now = (deps.now ?? (() => new Date()))();
  return admit({ certificate, login: username, clientIp: ipOf(request.clientAddress), access, node: { id: hostId, ...deps.node }, cluster, now });
}

/** A refusal that cannot be recorded is a refusal all the same. */
async function recordRefusal({ thrown, username, certificate, request, deps }: Attempt & { thrown: unknown }): Promise<void> {
  const error = toPlatformError(thrown);
  deps.log.info("ssh login refused", { user: certificate.keyId, login: username, error: thrown, client: request.clientAddress });
  try {
    await deps.audit.record({
      event: "auth",
      error: error.message.slice(0, 2000),
      user: certificate.keyId.slice(0, 256),
      login: username.slice(0, 256),
      server_id: deps.credentials().hostId,
      server_name: deps.node.name,
      sid: (request.sessionId || randomUUID()).slice(0, 256),
      "addr.remote": request.clientAddress.slice(0, 256),
    });
  } catch (cause) {
    deps.log.error("a refusal could not be recorded", { error: errorText(cause) });
  }
}
