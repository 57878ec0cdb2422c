import type { ServiceDeps } from "../service/deps.ts";
import type { OfferedApp } from "./offered-apps.ts";

/** Dependencies of the application service beyond those of every service. */
export interface AppDeps extends ServiceDeps {
  /** The currently offered application of this name. */
  readonly findApp: (name: string) => OfferedApp | undefined;
}
