import type { PackageDefinition } from "./package-definition.ts";
import type { Release } from "./release.ts";

/** What making one package of one format takes. */
export interface PackInput {
  /** The folder packaging/. */
  readonly packaging: string;
  readonly definition: PackageDefinition;
  readonly release: Release;
  /** An empty folder for this package alone. */
  readonly work: string;
  readonly out: string;
}
