import type { ServiceDeps } from "../service/service.ts";
import type { OfferedCluster } from "./offered-cluster.ts";
import type { UserRequests } from "./user-requests.ts";

/** Dependencies of the Kubernetes service beyond those of every service. */
export interface KubeDeps extends ServiceDeps {
  /** The currently offered cluster of this name. */
  readonly findCluster: (name: string) => OfferedCluster | undefined;
  readonly requests: UserRequests;
  /** Called when the API server of the cluster of this name did not answer: it is checked at once. */
  readonly onUnreached?: (name: string) => void;
}
