import { readFile } from "node:fs/promises";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { InstallerDeps } from "../installer.ts";
import { type CommandResult, runCommand } from "../run-command.ts";
import { childEnvironment } from "./child-environment.ts";
import { commandFailure, type Step } from "./command-failure.ts";
import { repositoryAddress } from "./repository-address.ts";
import { waitWhileBusy } from "./wait-while-busy.ts";

export interface HostCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly step: Step;
  /** The failed action, for the error: `could not read the repository's index`. */
  readonly what: string;
  /** Successful exit statuses; default only 0. */
  readonly ok?: readonly number[];
  readonly cwd?: string;
}

/** Runs a command of the package manager; throws UpgradeError unless its status is one of `ok`. */
export type RunOnHost = (command: HostCommand) => Promise<CommandResult>;

const minute = 60_000;
const limits: Readonly<Record<Step, number>> = { other: minute, refresh: 3 * minute, download: 15 * minute, install: 15 * minute };

/**
 * Runs commands with the environment for a package manager, waits while another program holds it, and ends a
 * transaction that has begun only at its time limit. `repositoryFiles`: the first that exists names our repository.
 */
export function createRunOnHost(deps: InstallerDeps, repositoryFiles: readonly string[]): RunOnHost {
  const { log, env, signal } = deps;
  return async ({ file, args, step, what, ok = [0], cwd }) => {
    const environment = childEnvironment(env, step === "other" ? undefined : await addressIn(repositoryFiles));
    const ended = step === "install" ? undefined : signal;
    const attempt = async (): Promise<CommandResult> => {
      const result = await runCommand({ file, args, env: environment, limitMs: limits[step], signal: ended, ...(cwd !== undefined && { cwd }) });
      log.debug("ran a command", { file, args: args.join(" "), ended: result.ended, status: result.status });
      if (result.ended === "exit" && ok.includes(result.status)) return result;
      throw commandFailure(what, step, result);
    };
    return await waitWhileBusy(attempt, { log, signal });
  };
}

async function addressIn(files: readonly string[]): Promise<HostPort | undefined> {
  for (const file of files) {
    try {
      return repositoryAddress(await readFile(file, "utf8"));
    } catch {
      // Not in this file.
    }
  }
  return undefined;
}
