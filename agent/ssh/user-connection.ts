import type { SshGrant } from "../../core/access/authorize.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { SshDeps } from "./deps.ts";
import type { HeldConnection } from "./login/hold-connection.ts";
import type { UnixUser } from "./unix-user.ts";

/** One authenticated SSH connection of a user. */
export interface UserConnection {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  /** The certificate's `permit-pty`. */
  readonly permitsPty: boolean;
  readonly request: StreamRequest;
  readonly sessionRecording: RecordingMode;
  readonly deps: SshDeps;
  /** Its place, where the user's connections are limited. */
  readonly held?: HeldConnection | undefined;
}
