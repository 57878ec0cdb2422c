import type { SshGrant } from "../../core/access/authorize.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { UnixUser } from "../host/unix-user.ts";
import type { ConnectionLease } from "../service/connection-lease.ts";
import type { SshDeps } from "./deps.ts";

/** One authenticated SSH connection of a user. */
export interface UserConnection {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  /** The certificate's `permit-pty`. */
  readonly permitsPty: boolean;
  readonly request: StreamRequest<"ssh">;
  readonly sessionRecording: RecordingMode;
  readonly deps: SshDeps;
  /** Present where the user's connections are limited. */
  readonly lease?: ConnectionLease | undefined;
}
