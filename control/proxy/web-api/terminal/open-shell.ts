import type { ClientChannel } from "ssh2";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import type { TerminalAsk } from "../../../../core/api/web/terminal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { fromSshCertificate, type UserIdentity } from "../../../../core/identity/identity.ts";
import { joinLogin } from "../../../../core/resources/session.ts";
import { parseCertificateLine } from "../../../../core/ssh/certificate.ts";
import { exitStatus } from "../../../../core/ssh/exit-status.ts";
import { generateSshKey } from "../../../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../../../core/ssh/ssh-client.ts";
import { readFrame } from "../../../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage } from "../../../../core/transport/stream-request.ts";
import { openStream } from "../../routing/open-stream.ts";
import type { ChosenHost, ClientRequest, RoutingServices } from "../../routing/routing-services.ts";

export interface ShellAsk {
  readonly ask: TerminalAsk;
  /** The auth service's API in the user's name. */
  readonly auth: AuthClient;
  /** `ip:port` of the browser. */
  readonly peer: string;
  readonly signal: AbortSignal;
}

/** A program with a terminal on a host, in the user's name. */
export interface Shell {
  readonly channel: ClientChannel;
  readonly connection: SshConnection;
  readonly host: string;
  readonly login: string;
  /** Status of the program, and the host's reason for an end, once they are reported. */
  readonly ended: () => { readonly status?: number; readonly reason?: string };
  /** All output has been read. */
  readonly closed: Promise<unknown>;
}

/** Time limits of the host's reply, and of its login, ms. */
const [replyMs, loginMs] = [15_000, 20_000] as const;
/** The browser's terminal. */
const term = "xterm-256color";

/**
 * Opens a terminal for the user of a browser: SSH begins at this proxy, by a certificate of a fresh key that the auth service signs for this connection alone.
 * The host decides, records and audits as for the user's own client. Throws PlatformError.
 */
export async function openShell(facts: ShellAsk, services: RoutingServices): Promise<Shell> {
  const { ask, auth, peer, signal } = facts;
  const { privateKey, publicLine: sshPublicKey } = generateSshKey();
  const target = ask.type === "open" ? { host: ask.node, login: ask.login } : { sessionId: ask.session, mode: ask.mode };
  const { sshCertificate } = await auth.signBrowserSsh({ sshPublicKey, ...target }, { signal });
  const certificate = parseCertificateLine(sshCertificate);
  const chosen: ChosenHost = { host: undefined };
  const stream = await openStream(
    { identity: userIn(fromSshCertificate(certificate)), request: requestOf(ask), clientAddress: peer },
    services,
    chosen,
  );
  try {
    const reply = decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "host's reply", signal }));
    if (!reply.ok) throw reply.error;
    const { hostCaSsh } = await services.access.current();
    const login = { username: ask.type === "open" ? ask.login : joinLogin, privateKey, certificate: certificate.blob };
    const server = { hostAuthorities: hostCaSsh, principal: principalOf(chosen) };
    const connection = await connectSsh({ stream, ...login, ...server, timeoutMs: loginMs, signal });
    const host = chosen.host?.facts.hostname ?? "";
    return { ...(await startShell(connection, { ask, host })), connection, host, login: ask.type === "open" ? ask.login : "" };
  } catch (thrown) {
    stream.destroy();
    throw thrown;
  }
}

function userIn(identity: ReturnType<typeof fromSshCertificate>): UserIdentity {
  if (identity.kind === "user") return identity;
  throw new Error("the auth service has signed for a host");
}

function requestOf(ask: TerminalAsk): ClientRequest<"ssh"> | ClientRequest<"join"> {
  if (ask.type === "open") return { kind: "ssh", target: ask.node, parameters: { login: ask.login } };
  return { kind: "join", target: ask.session, parameters: { mode: ask.mode } };
}

/** A name that the host's certificate must list. A host without an agent is only known by its names. */
function principalOf({ host }: ChosenHost): string {
  if (host === undefined) throw new Error("a stream was opened to no host");
  return host.via === "sshd" ? host.facts.hostname : host.identity.id;
}

/** A program's channel as it opened: its status may follow in the same packet. */
function startShell(connection: SshConnection, { ask, host }: { readonly ask: TerminalAsk; readonly host: string }) {
  const { cols, rows } = ask;
  return new Promise<Pick<Shell, "channel" | "ended" | "closed">>((resolve, reject) => {
    const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
    connection.once("close", lost);
    try {
      connection.shell({ term, cols, rows, width: 0, height: 0 }, {}, (cause, channel) => {
        connection.off("close", lost);
        if (cause === undefined) resolve(watched(channel));
        else reject(new PlatformError("denied", `${host} refused the terminal: ${cause.message}`, { cause }));
      });
    } catch {
      // ssh2 throws once the connection has closed.
      lost();
    }
  });
}

function watched(channel: ClientChannel): Pick<Shell, "channel" | "ended" | "closed"> {
  let end: { readonly status?: number; readonly reason?: string } = {};
  channel.on("exit", (code: number | null, signal?: string, _dumped?: boolean, why?: string) => {
    const status = exitStatus(code, signal);
    end = { ...(status !== undefined && { status }), ...(why && { reason: why.slice(0, 2000) }) };
  });
  channel.on("error", () => {});
  const closed = [channel, channel.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  return { channel, ended: () => end, closed: Promise.all(closed) };
}
