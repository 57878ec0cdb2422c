import type { Labels } from "../../core/resources/metadata.ts";
import type { ApiServer } from "./upstream/api-server.ts";
import type { KnownKinds } from "./upstream/known-kinds.ts";

/** A Kubernetes cluster that this agent offers. */
export interface OfferedCluster {
  readonly name: string;
  readonly labels: Labels;
  readonly api: Pick<ApiServer, "facts" | "send" | "upgrade" | "prefersHttp1">;
  readonly kinds: KnownKinds;
}
