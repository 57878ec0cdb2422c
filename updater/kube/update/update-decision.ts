import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";
import type { EndpointAnswer } from "../../endpoint/endpoint-answer.ts";
import type { Proof } from "../../endpoint/judge-proof.ts";
import type { RefusedConfiguration } from "../../state/parse-state.ts";
import type { Schedule } from "../../tick/schedule.ts";
import type { KubePod } from "../cluster/kube-pod.ts";
import type { Workload } from "../cluster/workload.ts";
import type { FoundMemory, UpdateInProgress, VersionedImage } from "./update-memory.ts";

/** What the cluster wants, as far as it could be asked. */
export interface WantedVersion {
  readonly endpoint: EndpointAnswer;
  /** Proof of the endpoint's version; omitted if it names none. */
  readonly proof?: Proof | undefined;
  /** Version of the proxy; omitted if it could not be asked. */
  readonly proxy?: string | undefined;
}

/**
 * What the registry has of a version's image, by its manifest and its signature. `unknown`: it could not be asked, which is not the same as missing;
 * `isDenied` if it refuses the updater's credentials, which does not pass by itself.
 */
export type ImageVerdict =
  | { readonly kind: "good"; readonly digest: string }
  | { readonly kind: "missing" | "refused"; readonly detail: string }
  | { readonly kind: "unknown"; readonly detail: string; readonly isDenied?: boolean };

/** All inputs of a decision. What is omitted has not been asked for yet: the decision says when it is needed. */
export interface UpdateFacts {
  /** Unix seconds. */
  readonly now: number;
  readonly workload: Workload;
  /** Their times are this controller's, since it has seen them as they are. */
  readonly pods: readonly KubePod[];
  /** Time for which this controller has seen the update in its phase, and the registry with its image, seconds. */
  readonly phaseFor: number;
  readonly availableFor: number;
  readonly found: FoundMemory;
  /** Maintenance windows, which the agents write. */
  readonly schedule: Schedule;
  readonly mode: "apply" | "suggest";
  /** Lowest version that may be installed, set by an admin. */
  readonly minimum?: string | undefined;
  /** `registry/repository` to take images from; omitted for those of the running image. */
  readonly baseImage?: string | undefined;
  readonly wanted?: WantedVersion | undefined;
  /** Of the image that the last decision asked about. */
  readonly image?: { readonly name: string; readonly verdict: ImageVerdict } | undefined;
}

/**
 * What to do next. `stay` ends the run; after any other act the facts are gathered and decided on again. `ask`: the wanted version is needed;
 * `check`: the verdict on an image; `update`, `accept` (stop watching), `roll_back`; `forget`: an update in progress has ended in another way;
 * `watch`: remember more about an update in progress;
 * `undone`: another program has set an earlier image; `delete_pod`: it blocks the roll-out of its own correction; `suggest`: name the image to another tool.
 */
export type UpdateDecision =
  | { readonly act: "stay"; readonly reason: UpgradeReason; readonly detail: string }
  | { readonly act: "ask"; readonly detail: string }
  | { readonly act: "check"; readonly name: string; readonly detail: string }
  | { readonly act: "update"; readonly update: UpdateInProgress; readonly detail: string }
  | { readonly act: "watch"; readonly update: UpdateInProgress; readonly detail: string }
  | { readonly act: "accept"; readonly update: UpdateInProgress; readonly detail: string }
  | {
      readonly act: "roll_back";
      readonly update: UpdateInProgress;
      readonly why: string;
      /** The version is not at fault: it is not skipped. */
      readonly isInnocent?: true;
      readonly config?: RefusedConfiguration;
      readonly detail: string;
    }
  | { readonly act: "forget"; readonly reason: UpgradeReason; readonly detail: string }
  | { readonly act: "undone"; readonly version: string; readonly detail: string }
  | { readonly act: "delete_pod"; readonly pod: KubePod; readonly detail: string }
  | { readonly act: "suggest"; readonly to: VersionedImage; readonly detail: string };

export function stay(reason: UpgradeReason, detail: string): UpdateDecision {
  return { act: "stay", reason, detail };
}
