import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { StreamKind, StreamParameters } from "../../core/kinds/stream-kinds.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { CliIo } from "../io.ts";
import { loginCommand, type Profile, requireValid } from "../profile/profile.ts";
import { dialProxyTls } from "../profile/reach-cluster.ts";
import { credentialsFor } from "../profile/resource-certificates.ts";

export interface SshStreamAsk {
  readonly profile: Profile;
  readonly target: string;
  readonly login: string;
}

export interface StreamAsk<Kind extends StreamKind> {
  readonly profile: Profile;
  readonly kind: Kind;
  readonly target: string;
  readonly parameters: StreamParameters<Kind>;
}

/** A byte stream to the SSH service of a host. Throws as `openStream` does. */
export async function openSshStream(io: CliIo, { profile, target, login }: SshStreamAsk): Promise<TLSSocket> {
  return await openStream(io, { profile, target, kind: "ssh", parameters: { login } });
}

/**
 * A byte stream through the proxy; core/transport/stream-request.ts describes target and parameters. Throws the refusal of control or the
 * agent, and the failure to reach the proxy.
 */
export async function openStream<Kind extends StreamKind>(io: CliIo, { profile, kind, target, parameters }: StreamAsk<Kind>): Promise<TLSSocket> {
  const { facts, hostCaPem } = profile;
  const now = new Date();
  requireValid(facts, now);
  const identity = credentialsFor(profile, { kind, name: target, account: accountOf(parameters) }, now);
  const tls = { alpn: [alpn.stream], servername: roleServerName("proxy"), ca: hostCaPem, ...identity };
  const socket = await dialProxyTls(facts, tls, io);
  try {
    socket.write(encodeStreamRequest({ kind, target, parameters, clientAddress: "", sessionId: "", accessRevision: "" } as StreamRequest));
    // Control waits for the agent: its own limit is shorter than this one.
    const body = await readFrame(socket, { maxLength: maxStreamMessage, timeoutMs: 30_000, what: "answer of the proxy" });
    const reply = decodeStreamReply(body);
    if (!reply.ok) throw explained(reply.error, facts, kind);
    return socket;
  } catch (thrown) {
    socket.on("error", () => {}).destroy();
    throw thrown;
  }
}

/** The account that a request states; empty: whatever the client says. Pure. */
export function accountOf(parameters: Readonly<Record<string, string>>): string {
  return parameters.user ?? "";
}

/** What lists the targets of a kind, and what a role allows there. */
const lists: Partial<Record<StreamKind, readonly [reach: string, rights: string]>> = {
  ssh: ["tsh ls lists the hosts that you may reach", "tsh status shows your roles and logins"],
  app: ["tsh apps ls lists the applications that you may use", "tsh apps ls lists the applications that you may use"],
  db: ["tsh db ls lists the databases that you may use", "tsh db ls shows the accounts that you may use"],
  kube: ["tsh kube ls lists the Kubernetes clusters that you may use", "tsh kube ls lists the Kubernetes clusters that you may use"],
};

/** What a user does after a refusal that has no hint of its own. Pure. */
export function refusalHint(code: PlatformError["code"], kind: StreamKind, facts: Profile["facts"]): string | undefined {
  const [reach, rights = "tsh status shows your roles"] = lists[kind] ?? [];
  if (code === "unauthenticated") return `log in again: ${loginCommand(facts)}`;
  if (code === "not_found") return reach;
  return code === "denied" ? `${rights}; role changes apply after the next tsh login` : undefined;
}

function explained(error: PlatformError, facts: Profile["facts"], kind: StreamKind): PlatformError {
  if (error.hint !== undefined) return error;
  return new PlatformError(error.code, error.message, { hint: refusalHint(error.code, kind, facts), cause: error.cause });
}
