import type { AuthClient } from "../../../../core/api/auth-client.ts";
import type { HostAsk } from "../../../../core/api/web/terminal.ts";
import { type PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../../core/identity/ssh-identity.ts";
import { joinLogin } from "../../../../core/resources/session.ts";
import { parseCertificateLine } from "../../../../core/ssh/certificate.ts";
import { generateSshKey } from "../../../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../../../core/ssh/ssh-client.ts";
import { readFrame } from "../../../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage } from "../../../../core/transport/stream-request.ts";
import { agentRefusal } from "../../routing/agent-refusal.ts";
import { openStream } from "../../routing/open-stream.ts";
import type { ChosenHost, ClientRequest, RoutingServices } from "../../routing/routing-services.ts";
import { confirmedUser } from "../confirmed-user.ts";

type Unsized<T = HostAsk> = T extends HostAsk ? Omit<T, "cols" | "rows"> : never;

export interface ReachAsk {
  /** A login on a host, or a session to join. */
  readonly ask: Unsized;
  /** Of the browser's session. */
  readonly identity: UserIdentity;
  /** The auth service's API in the user's name. */
  readonly auth: AuthClient;
  /** `ip:port` of the browser. */
  readonly peer: string;
  /** Ends the connection, at any time. */
  readonly signal: AbortSignal;
  /** Not for a terminal: a code that confirms one does not confirm the other. */
  readonly forFiles?: boolean;
}

export interface ReachedHost {
  readonly connection: SshConnection;
  readonly host: string;
}

/** Time limits of the host's reply, and of its login, ms. */
const [replyMs, loginMs] = [15_000, 20_000] as const;

/**
 * Connects to a host for the user of a browser: SSH begins at this proxy, by a certificate of a fresh key that the auth service signs for this connection
 * alone. A code for a terminal is used up once the host has answered. The host decides, records and audits as for the user's own client. Throws PlatformError: `mfa_required` where only a one-time code is missing.
 */
export async function reachHost(facts: ReachAsk, services: RoutingServices): Promise<ReachedHost> {
  const { ask, auth, peer, signal, forFiles = false } = facts;
  const { privateKey, publicLine: sshPublicKey } = generateSshKey();
  const target = ask.type === "open" ? { host: ask.node, login: ask.login, files: forFiles } : { sessionId: ask.session, mode: ask.mode };
  const { confirmation = "" } = ask;
  const sign = async () => parseCertificateLine((await auth.signBrowserSsh({ sshPublicKey, ...target, confirmation }, { signal })).sshCertificate);
  const confirmed = await userOfCode(facts);
  const signed = confirmed === undefined ? await sign() : undefined;
  const identity = confirmed ?? userIn(signed);
  const chosen: ChosenHost = { host: undefined };
  const stream = await openStream({ identity, request: requestOf(ask), clientAddress: peer }, services, chosen);
  const refusal = (thrown: unknown): PlatformError =>
    agentRefusal(toPlatformError(thrown), { what: namedBy(ask, chosen), isConfirmed: identity.mfa !== undefined });
  try {
    const reply = decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "host's reply", signal }));
    if (!reply.ok) throw refusal(reply.error);
    const certificate = signed ?? (await sign());
    const { hostCaSsh } = await services.access.current();
    const login = { username: ask.type === "open" ? ask.login : joinLogin, privateKey, certificate: certificate.blob };
    const server = { hostAuthorities: hostCaSsh, principal: principalOf(chosen) };
    const connection = await connectSsh({ stream, ...login, ...server, timeoutMs: loginMs, signal }).catch((thrown: unknown) => {
      throw refusal(thrown);
    });
    return { connection, host: chosen.host?.facts.hostname ?? "" };
  } catch (thrown) {
    stream.destroy();
    throw thrown;
  }
}

/** The user as in the certificate that follows, where that uses up a code; undefined: none is used up, and the auth service decides first. */
async function userOfCode({ ask, forFiles = false, ...facts }: ReachAsk): Promise<UserIdentity | undefined> {
  if (ask.type !== "open" || forFiles || ask.confirmation === undefined) return undefined;
  const { mfa, ...user } = await confirmedUser({ ...facts, confirmation: ask.confirmation });
  return mfa && { ...user, mfa, principals: { ssh: { login: [ask.login] } } };
}

function userIn(certificate: ReturnType<typeof parseCertificateLine> | undefined): UserIdentity {
  const identity = certificate && fromSshCertificate(certificate);
  if (identity?.kind === "user") return identity;
  throw new Error("the auth service has signed for a host");
}

function requestOf(ask: Unsized): ClientRequest<"ssh"> | ClientRequest<"join"> {
  if (ask.type === "open") return { kind: "ssh", target: ask.node, parameters: { login: ask.login } };
  return { kind: "join", target: ask.session, parameters: { mode: ask.mode } };
}

/** What the session is with, for people. */
function namedBy(ask: Unsized, { host }: ChosenHost): string {
  return ask.type === "open" ? `host ${host?.facts.hostname ?? ask.node}` : "joining this session";
}

/** A name that the host's certificate must list. A host without an agent is only known by its names. */
function principalOf({ host }: ChosenHost): string {
  if (host === undefined) throw new Error("a stream was opened to no host");
  return host.via === "sshd" ? host.facts.hostname : host.identity.id;
}
