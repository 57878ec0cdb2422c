import type { Log } from "../core/log/log.ts";

export type InstallerKind = "apt" | "yum" | "zypper";

/**
 * One package manager. A version is semver without `v` (`1.2.3`, `1.2.3-rc.1`), whatever the package manager makes of it;
 * names of packages were checked before (`[a-z0-9][a-z0-9+._-]*`). Every method has a time limit of its own, and throws
 * UpgradeError: `package_manager_busy` (nothing was changed), `repository_unreachable`, `signature_wrong`, `package_missing`,
 * `no_space`, else `package_manager_failed`. Implementations: updater/installers/.
 */
export interface Installer {
  readonly kind: InstallerKind;
  /** The version on the disk, half configured too; undefined: not installed, or only its configuration is left. Needs no lock. */
  installed(name: string): Promise<string | undefined>;
  /** A sentence that names the hold, pin or lock which the admin has set on the package, and how to lift it. */
  hold(name: string): Promise<string | undefined>;
  /** Reads the index of our repository anew, and of no other; its signature, its date and its answer are checked. */
  refresh(): Promise<void>;
  /** Whether our repository has the version, by the last refresh. */
  available(name: string, version: string): Promise<boolean>;
  /** A sentence naming the file system that has too little room to download and unpack the version; undefined: enough. */
  shortage(name: string, version: string): Promise<string | undefined>;
  /**
   * Keeps the package of the version that is installed now (a download into /var/cache/platform-upgrade), so that a roll-back
   * needs no network. Throws `no_way_back` for what cannot be had, `signature_wrong` for what cannot be trusted. Older kept packages of this name are removed.
   */
  keep(name: string, version: string): Promise<void>;
  /**
   * Exactly this version: the kept package, else from our repository. Never asks, never touches
   * another package but for its needs, never restarts a service. Repeating it is harmless. An older version needs `allowDowngrade`.
   */
  install(name: string, version: string, options: { readonly allowDowngrade: boolean }): Promise<void>;
  /** Completes what a kill or a power cut has interrupted. Harmless when nothing was. */
  heal(): Promise<"clean" | "healed">;
}

/**
 * What an installer is made with: `chooseInstaller(kind | undefined, deps): Installer` of installers/choose-installer.ts;
 * it throws `not_configured` when there is no such package manager here, and detects it when `kind` is undefined.
 */
export interface InstallerDeps {
  readonly log: Log;
  /** With HTTPS_PROXY and NO_PROXY for the package manager; made by the caller. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends waits and downloads; a transaction that has begun is waited for. */
  readonly signal: AbortSignal;
}
