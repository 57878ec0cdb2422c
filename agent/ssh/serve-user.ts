import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import type { StreamLife } from "../service/service.ts";
import type { SshDeps } from "./deps.ts";
import { acceptLogin } from "./login/accept-login.ts";
import { type Admission, type Admitted, type SessionGrant, UserLogin } from "./login/user-login.ts";

/** One stream whose SSH connection ends at this host. */
export interface UserStream<Allowed extends SessionGrant, Prepared> {
  readonly stream: Duplex;
  readonly request: StreamRequest<"ssh" | "join">;
  readonly deps: SshDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly life: StreamLife;
  /** The session that a join is for. */
  readonly sid?: string;
  readonly admission: Admission<Allowed, Prepared>;
  /** Serves the connection of an admitted user until it is closed and all of its work has ended. */
  readonly serve: (connection: Connection, admitted: Admitted<Allowed, Prepared>) => Promise<void>;
}

/** Answers the stream, lets the user log in, serves the connection, and releases what it held. Resolves when it has ended; never throws. */
export async function serveUser<Allowed extends SessionGrant, Prepared>(facts: UserStream<Allowed, Prepared>): Promise<void> {
  const { stream, request, deps, access, life, admission, serve } = facts;
  const { sessionId, clientAddress } = request;
  const connectionId = sessionId || randomUUID();
  const login = new UserLogin({ deps, access, clientAddress, connectionId, sid: facts.sid ?? connectionId }, admission);
  const { authenticate } = login;
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { algorithms } = deps;
    const { connection } = await acceptLogin({ stream, credentials: deps.credentials(), authenticate, algorithms, signal: life.signal });
    life.established();
    if (login.admitted === undefined) throw new Error("a connection was accepted without a grant");
    await serve(connection, login.admitted);
  } catch (thrown) {
    deps.log.info("SSH connection failed", { kind: request.kind, session: facts.sid ?? sessionId, client: clientAddress, error: thrown });
    stream.destroy();
  } finally {
    await login.end();
  }
}
