import type { TLSSocket } from "node:tls";
import { type JoinMode, joinLogin, type ListedSession } from "../../core/resources/session.ts";
import type { CliIo } from "../io.ts";
import { writeNote } from "../output.ts";
import type { Profile } from "../profile/profile.ts";
import { connectHost } from "./connect-host.ts";
import { runSession } from "./session.ts";

export interface JoinOverAsk {
  readonly profile: Profile;
  readonly session: ListedSession;
  readonly mode: JoinMode;
}

/** Participates in a session on the host at the other end of a stream, which is then closed. Returns the exit status. */
export async function joinOver(stream: TLSSocket, { profile, session, mode }: JoinOverAsk, io: CliIo): Promise<number> {
  const { server_id: host, server_name: name } = session;
  try {
    const connection = await connectHost(stream, { profile, login: joinLogin, host });
    const pty = io.stdin.isTTY === true;
    if (pty) writeNote(io, mode === "observer" ? "Ctrl-C or ~. leaves the session" : "~. at the start of a line leaves the session");
    const status = await runSession(connection, { command: undefined, pty, host: name, join: mode }, io);
    connection.end();
    return status;
  } finally {
    stream.destroySoon();
  }
}
