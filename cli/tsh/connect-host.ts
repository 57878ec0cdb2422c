import type { TLSSocket } from "node:tls";
import type { Client, ClientChannel } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import type { LentAgent } from "../../core/ssh/lent-agent.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import type { Profile } from "../profile/profile.ts";

/** Time limit of the SSH login, ms. */
const loginMs = 20_000;

export interface ConnectHostAsk {
  readonly profile: Profile;
  readonly login: string;
  /** Name that the host's certificate must list. */
  readonly host: string;
  /** SSH agent, forwarded to the host in sessions that request it. */
  readonly agent?: LentAgent | undefined;
}

/** Logs in with the profile's certificate to the SSH service at the other end of a stream. Throws as `connectSsh` does, and names the host. */
export async function connectHost(stream: TLSSocket, ask: ConnectHostAsk): Promise<SshConnection> {
  try {
    return await connect(stream, ask);
  } catch (thrown) {
    // Its refusals name their origin; a protocol error could come from any peer, so the host is named.
    if (!(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw thrown;
    throw new PlatformError(thrown.code, `${ask.host}: ${thrown.message}`, { hint: thrown.hint, cause: thrown });
  }
}

function connect(stream: TLSSocket, { profile, login, host, agent }: ConnectHostAsk): Promise<SshConnection> {
  return connectSsh({
    stream,
    username: login,
    privateKey: fromOpensshPrivate(profile.secrets.sshPrivateKey),
    certificate: parseCertificateLine(profile.secrets.sshCertificate).blob,
    hostAuthorities: profile.facts.hostCaSsh,
    principal: host,
    agent,
    timeoutMs: loginMs,
    signal: new AbortController().signal,
  });
}

export interface ChannelAsk {
  /** Host and requested thing, for messages. */
  readonly host: string;
  readonly what: string;
  readonly request: (opened: (cause: Error | undefined, channel: ClientChannel) => void) => unknown;
}

/**
 * A channel to the host, as converted by `take` in the same turn in which it opened. Throws `denied`, or `unavailable` when the connection is
 * lost.
 */
export function openChannel<T>(client: Client, { host, what, request }: ChannelAsk, take: (channel: ClientChannel) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
    client.once("close", lost);
    const opened = (cause: Error | undefined, channel: ClientChannel): void => {
      client.off("close", lost);
      if (cause === undefined) resolve(take(channel));
      else reject(new PlatformError("denied", `${host} refused the ${what}: ${cause.message}`, { cause }));
    };
    // ssh2 throws once the connection has closed.
    try {
      request(opened);
    } catch {
      lost();
    }
  });
}
