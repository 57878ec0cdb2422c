import type { BuildArch } from "../build/build-target.ts";

/** What all packages of one pack have in common. */
export interface Release {
  /** As deb and rpm write it (updater/installers/installer.ts). */
  readonly version: string;
  readonly arch: BuildArch;
  /** Time of every file and of the packages, Unix seconds. */
  readonly epoch: number;
  /** Little compression: for tests. */
  readonly fast: boolean;
}

export const maintainer = "Access Platform <packages@platform.dev>";
export const homepage = "https://platform.dev";
