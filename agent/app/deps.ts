import type { ServiceDeps } from "../service/deps.ts";
import type { OfferedApp } from "./offered-apps.ts";

/** What the application service needs beside what all services do. */
export interface AppDeps extends ServiceDeps {
  /** The application of this name that is offered now. */
  readonly findApp: (name: string) => OfferedApp | undefined;
}
