import type { TLSSocket } from "node:tls";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh } from "../../core/ssh/ssh-client.ts";
import type { CliIo } from "../io.ts";
import type { Profile } from "../profile/profile.ts";
import { runSession, type SessionAsk } from "./session.ts";

export interface SshOverAsk {
  readonly profile: Profile;
  readonly login: string;
  readonly session: SessionAsk;
}

/** One session with the host at the other end of a stream; the exit status of what ran there. The stream is ended. */
export async function sshOver(stream: TLSSocket, { profile, login, session }: SshOverAsk, io: CliIo): Promise<number> {
  try {
    const connection = await connectSsh({
      stream,
      username: login,
      privateKey: fromOpensshPrivate(profile.secrets.sshPrivateKey),
      certificate: parseCertificateLine(profile.secrets.sshCertificate).blob,
      hostAuthorities: profile.facts.hostCaSsh,
      principal: session.host,
      timeoutMs: 20_000,
      signal: new AbortController().signal,
    });
    const status = await runSession(connection, session, io);
    connection.end();
    return status;
  } finally {
    stream.destroySoon();
  }
}
