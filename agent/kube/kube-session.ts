import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { AskedOfJudge, Judged } from "./http/judged.ts";
import type { KubePlaceNames } from "./http/strip-prefix.ts";
import type { KubeDeps } from "./kube-deps.ts";
import type { OfferedCluster } from "./offered-cluster.ts";
import type { UserRequests } from "./user-requests.ts";

/** One connection of a user to a Kubernetes cluster: what its requests share. */
export interface KubeSession {
  readonly cluster: OfferedCluster;
  readonly names: KubePlaceNames;
  readonly user: Pick<UserIdentity, "name" | "roles" | "relayed" | "mfa">;
  readonly sid: string;
  /** `ip:port` of the user; empty when not known. */
  readonly clientAddress: string;
  readonly recordingMode: RecordingMode;
  /** A role demands it (`record_session: strict`). */
  readonly strictRecording: () => boolean;
  /** Decides about a request by the current rules. Throws PlatformError. */
  readonly judge: (asked: AskedOfJudge) => Promise<Judged>;
  /** Requests that run on this connection. */
  readonly running: Running;
  /** Counts requests and streams of the user on this agent. */
  readonly requests: UserRequests;
  /** The user did something, or got something. */
  readonly touch: () => void;
  readonly deps: KubeDeps;
}

/** A request that runs: ended when access changes, or with its connection. */
export interface RunningRequest {
  readonly judged: Judged;
  readonly end: (why: PlatformError) => void;
}

/** The requests that run on one connection. */
export class Running {
  readonly #all = new Set<RunningRequest>();

  /** Returns the function that takes it out again. */
  add(request: RunningRequest): () => void {
    this.#all.add(request);
    return () => void this.#all.delete(request);
  }

  /** Ends those that the current rules do not allow. `errorOf` gives the error of a decision. */
  judgeAgain(errorOf: (thrown: unknown) => PlatformError | undefined): void {
    for (const { judged, end } of [...this.#all]) {
      try {
        judged.again();
      } catch (thrown) {
        const error = errorOf(thrown);
        if (error !== undefined) end(error);
      }
    }
  }

  endAll(why: PlatformError): void {
    for (const { end } of [...this.#all]) end(why);
  }
}
