import type { EndpointAnswer } from "./endpoint-answer.ts";
import type { Installer } from "./installer.ts";
import type { UpdaterState } from "./parse-state.ts";
import type { Schedule } from "./schedule.ts";
import type { AgentService } from "./service.ts";
import type { FoundState } from "./state.ts";

/** Everything that a run of the updater touches. */
export interface World {
  readonly installer: Installer;
  readonly service: AgentService;
  readonly store: { read(): Promise<FoundState>; write(state: UpdaterState): Promise<void> };
  /** Asks the version endpoint; without `hostId` for no host in particular. Throws only for the signal. */
  ask(hostId: string | undefined): Promise<EndpointAnswer>;
  /** Version that the updater's executable on disk reports; undefined if it does not run, or its dry run on this host fails. */
  updaterOnDisk(): Promise<string | undefined>;
  readonly package: string;
  readonly schedule: Schedule;
  /** Lowest version that may be installed; undefined if the admin has set none. */
  readonly minimum: string | undefined;
  /** Public keys by which the cluster signs, as lines; empty if the agent has written none. */
  readonly authorities: readonly string[];
  /** Name of the requested channel; undefined if no endpoint is configured. */
  readonly channel: string | undefined;
  /** Version of this updater. */
  readonly updater: string;
  /** Kernel's id of this boot. */
  readonly boot: string;
  now(): Date;
  /** Prints one line for users. */
  say(line: string): void;
  readonly signal: AbortSignal;
}
