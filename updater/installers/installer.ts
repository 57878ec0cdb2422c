import type { Log } from "../../core/log/log.ts";

export type InstallerKind = "apt" | "yum" | "zypper";

/**
 * One package manager. A version is semver without `v` (`1.2.3`, `1.2.3-rc.1`), regardless of the package manager's form;
 * names of packages are already checked (`[a-z0-9][a-z0-9+._-]*`). Every method has its own time limit, and throws
 * UpgradeError: `package_manager_busy` (nothing was changed), `repository_unreachable`, `signature_wrong`, `package_missing`,
 * `no_space`, else `package_manager_failed`. Implementations: updater/installers/.
 */
export interface Installer {
  readonly kind: InstallerKind;
  /** The version on disk, also if partly configured; undefined if not installed, or if only its configuration is left. Needs no lock. */
  installed(name: string): Promise<string | undefined>;
  /** A sentence that names the hold, pin or lock which the admin has set on the package, and how to lift it. */
  hold(name: string): Promise<string | undefined>;
  /** Refreshes the index of our repository only; its signature, its date and its answer are checked. */
  refresh(): Promise<void>;
  /** Whether our repository has the version, by the last refresh. */
  available(name: string, version: string): Promise<boolean>;
  /** A sentence naming the file system that has too little room to download and unpack the version; undefined if there is enough. */
  shortage(name: string, version: string): Promise<string | undefined>;
  /**
   * Keeps the package of the installed version (a download into /var/cache/platform-upgrade), so that a roll-back
   * needs no network. Throws `no_way_back` if it cannot be fetched, `signature_wrong` if it cannot be trusted. Removes older kept packages.
   */
  keep(name: string, version: string): Promise<void>;
  /**
   * Installs exactly this version: the kept package, or else from our repository. Never prompts, never touches
   * another package except its dependencies, never restarts a service. Repeating it is harmless. An older version needs `allowDowngrade`.
   */
  install(name: string, version: string, options: { readonly allowDowngrade: boolean }): Promise<void>;
  /** Completes a transaction that a kill or a power cut has interrupted. Harmless otherwise. */
  heal(): Promise<"clean" | "healed">;
}

/**
 * Dependencies of an installer: `chooseInstaller(kind | undefined, deps): Installer` of installers/choose-installer.ts;
 * it throws `not_configured` when there is no such package manager here, and detects it when `kind` is undefined.
 */
export interface InstallerDeps {
  readonly log: Log;
  /** With HTTPS_PROXY and NO_PROXY for the package manager; made by the caller. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends waits and downloads; a transaction that has begun is completed. */
  readonly signal: AbortSignal;
}

/**
 * A semantic version in the form of deb and rpm: `1.2.3-rc.1` is `1.2.3~rc.1`, which both sort before `1.2.3`. Our packages have no
 * revision in their deb, and release `1` in their rpm.
 */
export function toPackageVersion(version: string): string {
  return version.replace("-", "~");
}

export function fromPackageVersion(version: string): string {
  return version.replace("~", "-");
}
