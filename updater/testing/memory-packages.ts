import { compareVersions } from "../../core/versions/compare-versions.ts";
import type { Installer } from "../installers/installer.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import type { MortalRun } from "./mortal-run.ts";

export const packageName = "platform-ent";
export const updaterName = "platform-ent-updater";

/** State left by a package manager that was killed in the middle, and the result of completing it. */
export interface Half {
  /** `unreadable`: not even the installed version can be read. */
  readonly looksLike: "from" | "to" | "none" | "unreadable";
  readonly healsTo: "from" | "to";
}

/** Its view of its host. */
export interface Surroundings {
  readonly run: MortalRun;
  readonly networkUp: () => boolean;
  readonly inWindow: () => boolean;
  readonly half: Half;
}

/** A package manager and its disk in memory, as specified by `Installer`. Its state survives a kill. */
export class MemoryPackages {
  hold: string | undefined;
  /** Packages whose hold was queried. */
  readonly holdQuestions: string[] = [];
  holdError: UpgradeError | undefined;
  keepError: UpgradeError | undefined;
  refreshError: UpgradeError | undefined;
  installError: UpgradeError | undefined;
  healError: UpgradeError | undefined;
  shortage: string | undefined;
  /** It reports success without doing anything. */
  lies = false;
  readonly disk = new Map([
    [packageName, "1.0.0"],
    [updaterName, "1.0.0"],
  ]);
  /** Installations that began, with whether a window was open. */
  readonly installs: { readonly name: string; readonly version: string; readonly inWindow: boolean }[] = [];
  readonly #repository = new Set(["1.0.0", "1.1.0", "1.2.0", "2.0.0"]);
  readonly #around: Surroundings;
  #half: { readonly name: string; readonly from: string; readonly to: string } | undefined;
  #installing = false;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get halfDone(): boolean {
    return this.#half !== undefined;
  }

  /** Versions of the agent's package whose installation began. */
  get agentInstalls(): readonly string[] {
    return this.installs.filter(({ name }) => name === packageName).map(({ version }) => version);
  }

  /** The version that the package manager reports. */
  look(name: string = packageName): string | undefined {
    const half = this.#half;
    if (half === undefined || half.name !== name) return this.disk.get(name);
    const looks = this.#around.half.looksLike;
    if (looks === "unreadable") throw new UpgradeError("package_manager_failed", "the database of the packages cannot be read");
    return looks === "none" ? undefined : half[looks];
  }

  installer(): Installer {
    const { run, networkUp } = this.#around;
    return {
      kind: "apt",
      installed: async (name) => {
        run.alive();
        return this.look(name);
      },
      hold: async (name) => {
        this.holdQuestions.push(name);
        if (this.holdError !== undefined) throw this.holdError;
        return this.hold;
      },
      refresh: async () => {
        run.alive();
        if (this.refreshError !== undefined) throw this.refreshError;
        if (!networkUp()) throw new UpgradeError("repository_unreachable", "the network is down");
      },
      available: async (_name, version) => this.#repository.has(version),
      shortage: async () => this.shortage,
      keep: async (name, version) => {
        if (this.keepError !== undefined) throw this.keepError;
        await run.effect(`keep ${name} ${version}`, () => undefined);
      },
      install: async (name, version, { allowDowngrade }) => {
        const older = compareVersions(version, this.look(name) ?? "") < 0;
        if (older && !allowDowngrade) throw new UpgradeError("package_manager_failed", "a downgrade is not allowed");
        await this.#install(name, version);
      },
      heal: async () => await this.#heal(),
    };
  }

  async #install(name: string, version: string): Promise<void> {
    const { run, inWindow } = this.#around;
    run.alive();
    if (this.#installing) throw new Error("two installations at once");
    if (this.#half !== undefined) throw new UpgradeError("package_manager_failed", "an installation was interrupted");
    if (this.installError !== undefined) throw this.installError;
    if (this.lies) return;
    this.#installing = true;
    try {
      const from = this.disk.get(name) ?? "";
      run.point();
      this.installs.push({ name, version, inWindow: inWindow() });
      this.#half = { name, from, to: version };
      await Promise.resolve();
      run.point();
      this.#half = undefined;
      this.disk.set(name, version);
      run.log.push(`install ${name} ${version}`);
      run.point();
    } finally {
      this.#installing = false;
    }
  }

  async #heal(): Promise<"clean" | "healed"> {
    const half = this.#half;
    const { run } = this.#around;
    run.alive();
    if (this.healError !== undefined) throw this.healError;
    if (half === undefined) return "clean";
    await run.effect("heal", () => {
      this.disk.set(half.name, half[this.#around.half.healsTo]);
      this.#half = undefined;
    });
    return "healed";
  }
}
