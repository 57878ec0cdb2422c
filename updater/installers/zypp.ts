import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandResult } from "../run-command.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import type { HostCommand, RunOnHost } from "./host-command.ts";
import { fetched, keptFolder } from "./kept-packages.ts";

/** Our repository file, as written by the install script: disabled, so that no other command of the host reads it. */
export const repositoryFile = "/etc/zypp/repos.d/platform.repo";

/** A repository that is disabled cannot be named on the command line: this folder has a copy that is enabled, and nothing else. */
const reposFolder = join(keptFolder, "zypp");

interface ZyppOptions {
  readonly xml?: boolean;
  /** Download folder of packages. */
  readonly packages?: string;
}

/** zypper with only our repository. */
export interface Zypp {
  run(command: Omit<HostCommand, "file"> & ZyppOptions): Promise<CommandResult>;
  /** The command line of these arguments. */
  command(args: readonly string[], options?: ZyppOptions): Promise<{ readonly file: string; readonly args: readonly string[] }>;
  /** Lets rpm trust the keys that the install script has put on the disk; zypper itself would accept any key that the repository offers. */
  trustKeys(): Promise<void>;
}

export function createZypp(runOnHost: RunOnHost): Zypp {
  const command: Zypp["command"] = async (args, { xml = false, packages = fetched } = {}) => {
    await mkdir(reposFolder, { recursive: true });
    await writeFile(join(reposFolder, "platform.repo"), strictRepository(await repositoryText()));
    const global = ["--non-interactive", "--no-color", ...(xml ? ["--xmlout"] : []), "--reposd-dir", reposFolder, "--pkg-cache-dir", packages];
    // Only `refresh` reads the index from the network.
    return { file: "zypper", args: [...global, ...(args[0] === "refresh" ? [] : ["--no-refresh"]), ...args] };
  };
  return {
    command,
    run: async (wanted) => await runOnHost({ ...wanted, ...(await command(wanted.args, wanted)) }),
    trustKeys: async () => {
      for (const key of localKeys(await repositoryText())) {
        const what = `could not import the key ${key} into rpm`;
        await runOnHost({ file: "rpm", args: ["--import", key], step: "other", what });
      }
    },
  };
}

async function repositoryText(): Promise<string> {
  try {
    return await readFile(repositoryFile, "utf8");
  } catch (cause) {
    throw new UpgradeError("repository_unreachable", `${repositoryFile} is missing: run the install script again to add the repository`, { cause });
  }
}

const forced = { enabled: "1", autorefresh: "0", gpgcheck: "1", repo_gpgcheck: "1", pkg_gpgcheck: "1", keeppackages: "1" } as const;

/** The repository file, enabled and with every check on, whatever its contents; zypper's own default installs unsigned packages. */
export function strictRepository(text: string): string {
  const others = text.split("\n").filter((line) => !Object.keys(forced).includes(line.split("=")[0]?.trim() ?? ""));
  const settings = Object.entries(forced).map(([name, value]) => `${name}=${value}`);
  return others.flatMap((line) => (line.trim() === "[platform]" ? [line, ...settings] : [line])).join("\n");
}

/** Paths of the keys on this host that the repository file names. */
export function localKeys(text: string): string[] {
  const [, written = ""] = /^\s*gpgkey\s*=\s*(.*(?:\n[ \t]+\S.*)*)/m.exec(text) ?? [];
  return written.split(/[\s,]+/).flatMap((url) => (url.startsWith("file:///") ? [url.slice("file://".length)] : []));
}
