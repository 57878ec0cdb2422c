import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ClientChannel } from "ssh2";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { toSshCertificate, type UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { AuditFacts } from "../../../core/resources/audit-event-schema.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { RecordingMode } from "../../../core/resources/recording.ts";
import type { Role } from "../../../core/resources/role.ts";
import { certificateLine, signCertificate } from "../../../core/ssh/certificate.ts";
import { execBytes } from "../../../core/ssh/exec-bytes.ts";
import { generateSshKey, toOpensshPrivate } from "../../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../../core/ssh/ssh-client.ts";
import { encodeTerminalModes, type TerminalModes } from "../../../core/ssh/terminal-modes.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage, type StreamRequest } from "../../../core/transport/stream-request.ts";
import type { Access } from "../../access/access-source.ts";
import { findUnixUser } from "../../host/unix-user.ts";
import { LiveSessions } from "../../service/live-sessions.ts";
import { UserShares } from "../../service/user-shares.ts";
import type { SshDeps } from "../deps.ts";
import { serveJoin } from "../join/serve-join.ts";
import { UserLimits } from "../login/user-limits.ts";
import { serveSsh } from "../serve.ts";
import { compiledStarter } from "./compiled-starter.ts";

const cluster = "example";
const hostId = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
export const ownLogin = userInfo().username;
const userCa = generateSshKey();
const hostCa = generateSshKey();
const host = generateSshKey();
const hour = 3_600_000;

/** Node runs the entries from source: what `platform __sftp` and `__socket` are in the executable. */
const entryOf = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
export const sourceLaunch: readonly [string, ...string[]] = [
  process.execPath,
  "--input-type=module",
  "-e",
  `if (process.argv[1] === "__sftp") import(${entryOf("../sftp/sftp-entry.ts")}).then((entry) => entry.runSftp());
    else import(${entryOf("../forwarding/socket-entry.ts")}).then((entry) => entry.runSocket());`,
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
  readonly authority?: ReturnType<typeof generateSshKey>;
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
  const events: AuditFacts[] = [];
  const { abort = new AbortController() } = options;
  const common = { target: "box", clientAddress: "192.0.2.7:40000", sessionId: "s-1", accessRevision: "1" };
  const ssh = { kind: "ssh", parameters: { login } } as const;
  const record = options.record ?? (async (facts: AuditFacts) => void events.push(facts));
  const home = await mkdtemp(join(tmpdir(), "platform-home-"));
  const removeHome = () => rm(home, { recursive: true, force: true });
  const deps = sshDeps(options, { logins, record, home });
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
  const user = generateSshKey();
  const identity: UserIdentity = {
    kind: "user",
    name: options.user ?? "alice",
    roles: ["access"],
    traits: {},
    principals: { ssh: { login: logins } },
    cluster,
    sourceIp: options.sourceIp,
    validBefore: options.validBefore ?? new Date(Date.now() + hour),
  };
  const fields = toSshCertificate(identity);
  const authority = (options.authority ?? userCa).privateKey;
  const certificate = signCertificate({ fields, key: user.privateKey, authority, validAfter: new Date(Date.now() - 2 * hour) });
  return connectSsh({
    stream,
    username: login,
    privateKey: user.privateKey,
    certificate,
    hostAuthorities: [hostCa.publicLine],
    principal: "box",
    timeoutMs: 10_000,
    signal: abort.signal,
  });
}

interface Fixed {
  readonly logins: readonly string[];
  readonly record: (facts: AuditFacts) => Promise<void>;
  readonly home: string;
}

function sshDeps(options: SessionOptions, { logins, record, home }: Fixed): SshDeps {
  const access: Access = {
    revision: "1",
    roles: options.roles ?? [accessRole(logins)],
    unreadable: [],
    locks: options.locks ?? [],
    userCaSsh: [userCa.publicLine],
    hostCaSsh: [hostCa.publicLine],
    userCaPem: [],
    hostCaPem: [],
    sessionRecording: options.recording?.mode ?? "off",
  };
  return {
    credentials: hostCredentials,
    access: {
      at: options.fetchAccess ?? (async () => access),
      announce: () => {},
      follow: options.follow ?? (() => {}),
      fresh: options.fetchAccess ?? (async () => access),
      refresh: async () => access,
      ageMs: options.ageMs ?? (() => 0),
    },
    lease: options.lease ?? (() => Promise.reject(new Error("connections are not limited in this test"))),
    audit: { record },
    recordings: options.recording?.recordings ?? { begin: unused, sendNow: unused },
    live: options.live ?? new LiveSessions(),
    shares: new UserShares(),
    listApps: async () => [],
    limits: new UserLimits(),
    node: { name: "box", labels: { env: "test" } },
    log: silentLog,
    findUser: async (login) => ({ ...(await findUnixUser(login)), home }),
    starter: compiledStarter(),
    launch: sourceLaunch,
  };
}

function unused(): Promise<never> {
  return Promise.reject(new Error("this test records nothing"));
}

function hostCredentials(): HostCredentials {
  const validBefore = new Date(Date.now() + hour);
  const fields = toSshCertificate({ kind: "host", id: hostId, role: "node", cluster, names: ["box"], validBefore });
  const certificate = signCertificate({ fields, key: host.privateKey, authority: hostCa.privateKey, validAfter: new Date(Date.now() - hour) });
  return {
    hostId,
    role: "node",
    cluster,
    sshPrivateKey: toOpensshPrivate(host.privateKey),
    sshCertificate: certificateLine(certificate),
    tlsPrivateKey: "",
    tlsCertificate: "",
    hostCaPem: [],
    userCaPem: [],
    hostCaSsh: [hostCa.publicLine],
    userCaSsh: [userCa.publicLine],
  };
}

export interface Ran {
  readonly code: number | null;
  readonly signal: string | undefined;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  readonly pty?: boolean;
  /** Of the terminal. */
  readonly modes?: TerminalModes;
  /** ssh2 takes bytes as values too. */
  readonly env?: Record<string, string | Buffer>;
  /** May write to and end standard input, which is ended at once otherwise. */
  readonly feed?: (channel: ClientChannel) => void;
}

/** Runs one command to its end. */
export function runCommand(client: SshConnection, command: Buffer | string, options: RunOptions = {}) {
  return new Promise<Ran>((resolve, reject) => {
    const modes = options.modes && { modes: encodeTerminalModes(options.modes) as object };
    const settings = {
      ...(options.pty && { pty: { rows: 33, cols: 101, term: "xterm-256color", ...modes } }),
      ...(options.env && { env: options.env as NodeJS.ProcessEnv }),
    };
    execBytes(client, command, settings, (error, channel) => {
      if (error) return void reject(error);
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      let exit: { code: number | null; signal: string | undefined } = { code: null, signal: undefined };
      channel.on("data", (chunk: Buffer) => out.push(chunk));
      channel.stderr.on("data", (chunk: Buffer) => err.push(chunk));
      channel.on("exit", (code: number | null, signal?: string) => {
        exit = { code, signal };
      });
      channel.on("close", () => resolve({ ...exit, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() }));
      channel.on("error", () => {});
      if (options.feed) options.feed(channel);
      else channel.end();
    });
  });
}
