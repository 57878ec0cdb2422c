import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import type { ServiceDeps } from "../service/service.ts";
import type { UserLimits } from "./user-limits.ts";

/** Dependencies of a user's SSH connection, whatever it is for. */
export interface ClientDeps extends ServiceDeps {
  readonly limits: UserLimits;
  /** Algorithms offered to SSH clients; omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
}
