import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Access } from "../../agent/access/access-source.ts";
import { findUnixUser } from "../../agent/host/unix-user.ts";
import type { LiveSessions } from "../../agent/service/live-sessions.ts";
import { serveJoin } from "../../agent/session-join/serve-join.ts";
import { serveSsh } from "../../agent/ssh/serve-ssh.ts";
import type { SshDeps } from "../../agent/ssh/user-connection.ts";
import { UserLimits } from "../../agent/ssh-server/user-limits.ts";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import type { MfaMark } from "../../core/identity/identity.ts";
import type { Lock } from "../../core/resources/lock.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { Role } from "../../core/resources/role.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "./authorities.ts";
import { compiledStarter } from "./compiled-starter.ts";
import { serviceDeps } from "./service-deps.ts";

/** The cluster of every session here, and its one host. */
const authorities = await insideAuthorities("example");
const hostCredentials = await authorities.host("box");
export const { hostId } = hostCredentials;
export const ownLogin = userInfo().username;

/** Node runs the entries from source: what `platform __sftp` and `__socket` are in the executable. */
const entryOf = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
export const sourceLaunch: readonly [string, ...string[]] = [
  process.execPath,
  "--input-type=module",
  "-e",
  `if (process.argv[1] === "__sftp") import(${entryOf("../../agent/ssh/sftp/sftp-entry.ts")}).then((entry) => entry.runSftp());
    else import(${entryOf("../../agent/ssh/forwarding/socket-entry.ts")}).then((entry) => entry.runSocket());`,
];

export interface SessionOptions {
  readonly login?: string;
  /** Name of the user; default: alice. */
  readonly user?: string;
  /** Logins in the certificate and in the role. */
  readonly logins?: readonly string[];
  readonly validBefore?: Date;
  /** Address in the certificate. */
  readonly sourceIp?: string;
  /** The mark of a certificate that a code confirmed. */
  readonly mfa?: MfaMark;
  /** That certify the user; default: the cluster's. */
  readonly authorities?: InsideAuthorities;
  readonly roles?: readonly Role[];
  readonly request?: Partial<Omit<StreamRequest<"ssh">, "kind">>;
  /** To join a session in place of a session of its own. */
  readonly join?: Pick<StreamRequest<"join">, "target" | "parameters" | "sessionId">;
  readonly record?: (facts: AuditFacts) => Promise<void>;
  readonly fetchAccess?: () => Promise<Access>;
  readonly locks?: readonly Lock[];
  readonly recording?: { readonly mode: RecordingMode; readonly recordings: SshDeps["recordings"] };
  readonly follow?: SshDeps["access"]["follow"];
  readonly ageMs?: () => number;
  readonly lease?: SshDeps["lease"];
  readonly live?: LiveSessions;
  /** Stops the agent; default: at the end of the test's session. */
  readonly abort?: AbortController;
}

export interface UserSession extends AsyncDisposable {
  readonly client: SshConnection;
  readonly events: AuditFacts[];
  /** The user's home, empty at first: start-up files of the tester's own shell may print, wait for a lock, or fail. */
  readonly home: string;
  /** Resolves when the agent has done with the stream. */
  readonly served: Promise<void>;
}

export function accessRole(logins: readonly string[], labels: Record<string, string> = { "*": "*" }, options?: Role["spec"]["options"]): Role {
  return {
    kind: "role",
    version: "v7",
    metadata: { name: "access" },
    spec: { allow: { logins: [...logins], node_labels: labels }, ...(options && { options }) },
  };
}

/** Serves one stream of the real SSH service over a pair of memory streams and logs in to it. Throws the refusal. */
export async function openUserSession(options: SessionOptions = {}): Promise<UserSession> {
  const { login = ownLogin, logins = [login] } = options;
  const [near, far] = duplexPair();
  const { abort = new AbortController() } = options;
  const common = { target: "box", clientAddress: "192.0.2.7:40000", sessionId: "s-1", accessRevision: "1" };
  const ssh = { kind: "ssh", parameters: { login } } as const;
  const home = await mkdtemp(join(tmpdir(), "platform-home-"));
  const removeHome = () => rm(home, { recursive: true, force: true });
  const { deps, events } = sshDeps(options, { logins, home });
  const life = { signal: abort.signal, established: () => {} };
  const served =
    options.join === undefined
      ? serveSsh(far, { ...common, ...ssh, ...options.request }, deps, life)
      : serveJoin(far, { ...common, kind: "join", ...options.join }, deps, life);
  served.catch(() => {});
  try {
    const reply = await Promise.race([readReply(near), served.then(() => Promise.reject(new Error("served without a reply")))]);
    if (!reply.ok) throw reply.error;
    const client = await logIn(near, { login, logins, options, abort });
    const close = async () => {
      client.end();
      abort.abort();
      await removeHome();
    };
    return { client, events, served, home, [Symbol.asyncDispose]: close };
  } catch (thrown) {
    abort.abort();
    await removeHome();
    throw Object.assign(thrown as Error, { events });
  }
}

async function readReply(stream: Duplex) {
  return decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));
}

async function logIn(
  stream: Duplex,
  { login, logins, options, abort }: { login: string; logins: readonly string[]; options: SessionOptions; abort: AbortController },
) {
  const { user = "alice", sourceIp, validBefore, mfa } = options;
  const keys = await (options.authorities ?? authorities).user(user, {
    principals: { ssh: { login: logins } },
    sourceIp,
    ...(validBefore && { validBefore }),
    ...(mfa && { mfa }),
  });
  return connectSsh({
    stream,
    username: login,
    privateKey: keys.sshPrivateKey,
    certificate: parseCertificateLine(keys.sshCertificate).blob,
    hostAuthorities: [authorities.hostCaSsh],
    principal: "box",
    timeoutMs: 10_000,
    signal: abort.signal,
  });
}

interface Fixed {
  readonly logins: readonly string[];
  readonly home: string;
}

function sshDeps(options: SessionOptions, { logins, home }: Fixed): { readonly deps: SshDeps; readonly events: AuditFacts[] } {
  const { recording, fetchAccess, follow, ageMs, record } = options;
  const access = { roles: options.roles ?? [accessRole(logins)], locks: options.locks ?? [], sessionRecording: recording?.mode ?? "off" };
  const node = { name: "box", labels: { env: "test" } };
  const service = serviceDeps({ authorities, credentials: hostCredentials, node, access, fetchAccess, follow, ageMs, record });
  const deps: SshDeps = {
    ...service.deps,
    ...(recording && { recordings: recording.recordings }),
    ...(options.lease && { lease: options.lease }),
    ...(options.live && { live: options.live }),
    limits: new UserLimits(),
    findUser: async (login) => ({ ...(await findUnixUser(login)), home }),
    starter: compiledStarter(),
    launch: sourceLaunch,
  };
  return { deps, events: service.events };
}
