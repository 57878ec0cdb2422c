import type { Labels } from "../../core/resources/metadata.ts";
import type { ServiceDeps } from "../service/service.ts";

export interface OfferedApp {
  readonly name: string;
  /** `tcp://host:port` */
  readonly uri: string;
  readonly labels: Labels;
}

/** Dependencies of the application service beyond those of every service. */
export interface AppDeps extends ServiceDeps {
  /** The currently offered application of this name. */
  readonly findApp: (name: string) => OfferedApp | undefined;
}
