import { constants } from "node:os";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import type { CliIo } from "../io.ts";
import type { Profile } from "../profile/profile.ts";
import type { ForwardAsk } from "./forwarding/start-forwards.ts";
import { runSession, type SessionAsk } from "./session.ts";

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface SshOverAsk {
  readonly profile: Profile;
  readonly login: string;
  readonly session: SessionAsk;
  readonly forwards: ForwardAsk;
  /** No session: until the connection ends, or a signal says so. */
  readonly isForwardOnly: boolean;
}

/** One session with the host at the other end of a stream; the exit status of what ran there. The stream is ended. */
export async function sshOver(stream: TLSSocket, ask: SshOverAsk, io: CliIo): Promise<number> {
  const { profile, login, session } = ask;
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
    const status = await use(connection, ask, io);
    connection.end();
    return status;
  } finally {
    stream.destroySoon();
  }
}

async function use(connection: SshConnection, { session, forwards, isForwardOnly }: SshOverAsk, io: CliIo): Promise<number> {
  const isForwarding = forwards.local.length + forwards.remote.length + forwards.dynamic.length > 0;
  const lost = new Promise<void>((resolve) => connection.once("close", resolve));
  const end = isForwarding ? await (await import("./forwarding/start-forwards.ts")).startForwards(connection, forwards, io) : async () => {};
  try {
    return isForwardOnly ? await untilInterrupted(lost, session.host) : await runSession(connection, session, io);
  } finally {
    await end();
  }
}

/** As a program that the signal ended; throws when the connection is lost before. */
async function untilInterrupted(lost: Promise<void>, host: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  for (const name of endings) process.once(name, resolve);
  const signal = await Promise.race([promise, lost]);
  for (const name of endings) process.off(name, resolve);
  if (signal === undefined) throw new PlatformError("unavailable", `the connection to ${host} was lost`);
  return 128 + constants.signals[signal];
}
