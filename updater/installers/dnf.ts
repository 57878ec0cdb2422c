import { existsSync } from "node:fs";
import { UpgradeError } from "../upgrade-error.ts";
import type { RunOnHost } from "./host-command.ts";

/** Our repository file, as written by the install script: disabled, so that no other command of the host reads it. */
export const repositoryFile = "/etc/yum.repos.d/platform.repo";

export interface Dnf {
  readonly run: RunOnHost;
  readonly file: "dnf" | "yum";
}

/** Options for our repository only, with strict checks, overriding dnf.conf and the repository file. */
export function onlyOurs(): string[] {
  if (!existsSync(repositoryFile)) {
    throw new UpgradeError("repository_unreachable", `${repositoryFile} is missing: run the install script again to add the repository`);
  }
  const options = [
    "platform.excludepkgs=",
    "platform.skip_if_unavailable=False",
    "platform.gpgcheck=1",
    "platform.repo_gpgcheck=1",
    "skip_if_unavailable=False",
    "localpkg_gpgcheck=1",
    "best=True",
    "exit_on_lock=True",
    "install_weak_deps=False",
    "retries=2",
    "timeout=30",
  ];
  return ["-y", "--color=never", "--repo=platform", ...options.map((option) => `--setopt=${option}`)];
}
