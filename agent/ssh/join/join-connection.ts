import type { JoinMode } from "../../../core/resources/session.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { SshDeps } from "../deps.ts";
import type { JoinAdmitted } from "./join-login.ts";

/** One authenticated connection of a user who joins a session. */
export interface JoinConnection extends JoinAdmitted {
  readonly mode: JoinMode;
  readonly request: StreamRequest<"join">;
  readonly deps: SshDeps;
}
