import type { ProcessFacts } from "./reload/process-state.ts";
import { type AskedProcesses, patientMs } from "./reload/status-socket.ts";

export const defaultConfigFile = "/etc/platform.yaml";

export interface ConfigFileFacts {
  /** Value of --config. */
  readonly wanted: string | undefined;
  /** The service's main process, if it answered. */
  readonly running: Pick<ProcessFacts, "pid" | "config"> | undefined;
  /** Processes of the service that live and gave no answer; undefined: this user may not look for them. */
  readonly silent: AskedProcesses["silent"] | undefined;
}

/** The configuration file that a check is of, and a sentence about which one that is, and why; none where the command line names it. Pure. */
export function chooseConfigFile(facts: ConfigFileFacts): { readonly file: string; readonly note?: string } {
  const { wanted, running } = facts;
  if (wanted !== undefined) return { file: wanted };
  if (running?.config !== undefined) {
    return { file: running.config, note: `checking ${running.config}, with which the service runs (process ${running.pid})` };
  }
  const doubt = doubtOf(facts);
  const checks = `checking ${defaultConfigFile}, the default`;
  if (doubt === undefined) return { file: defaultConfigFile, note: `${checks}, as the service does not run` };
  return { file: defaultConfigFile, note: `warning: ${checks}: ${doubt}; if the service runs with another file, name it with --config` };
}

/** Why the service's own file is not known although it may run; undefined if it does not. */
function doubtOf({ running, silent }: ConfigFileFacts): string | undefined {
  if (running !== undefined) return `process ${running.pid} of the service, of an earlier version, does not report its file`;
  if (silent === undefined) return "this user may not read the service's runtime directory";
  const [first] = silent;
  if (first === undefined) return undefined;
  return `process ${first.pid} of the service ${first.isDenied ? "answers root and its own user alone" : `did not answer within ${patientMs / 1000} s`}`;
}
