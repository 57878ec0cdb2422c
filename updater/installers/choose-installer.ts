import { existsSync } from "node:fs";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { aptInstaller } from "./apt.ts";
import type { Installer, InstallerDeps, InstallerKind } from "./installer.ts";
import { yumInstaller } from "./yum.ts";
import { zypperInstaller } from "./zypper.ts";

const made: Readonly<Record<InstallerKind, (deps: InstallerDeps) => Installer>> = { apt: aptInstaller, yum: yumInstaller, zypper: zypperInstaller };

const aptFiles = ["/etc/apt/platform.list", "/etc/apt/sources.list.d/platform.list", "/etc/apt/sources.list.d/platform.sources"];

/** In this order: a SUSE host may also have dnf, and an rpm host may have apt's tools; there the repository file decides. */
const detected: readonly { readonly kind: InstallerKind; readonly program: string; readonly repository: readonly string[] }[] = [
  { kind: "apt", program: "/usr/bin/apt-get", repository: aptFiles },
  { kind: "zypper", program: "/usr/bin/zypper", repository: ["/etc/zypp/repos.d/platform.repo"] },
  { kind: "yum", program: "/usr/bin/dnf", repository: ["/etc/yum.repos.d/platform.repo"] },
  { kind: "yum", program: "/usr/bin/yum", repository: ["/etc/yum.repos.d/platform.repo"] },
];

/**
 * The package manager by its configured kind; without one, the first whose repository file of ours exists, or else the first that is
 * installed. Throws UpgradeError `not_configured`.
 */
export function chooseInstaller(kind: InstallerKind | undefined, deps: InstallerDeps): Installer {
  const present = detected.filter(({ program }) => existsSync(program));
  const found = kind ?? present.find(({ repository }) => repository.some((file) => existsSync(file)))?.kind ?? present[0]?.kind;
  if (found === undefined) throw new UpgradeError("not_configured", "this host does not have apt, dnf, yum or zypper");
  return made[found](deps);
}
