import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { proxyVariables } from "../../core/transport/dial/proxy-environment.ts";
import type { Said } from "./examination.ts";

/** The unit as systemd reports it. */
export interface UnitFacts {
  readonly name: string;
  /** `active`, `activating` …, and the state below it: `running`, `auto-restart` … */
  readonly active: string;
  readonly sub: string;
  /** `enabled`, `disabled` … */
  readonly file: string;
  /** Restarts by systemd since the first start. */
  readonly restarts: number;
  /** The status text of the process. */
  readonly statusText: string;
  /** The last error in its journal. */
  readonly lastError?: string | undefined;
  /** Environment of the running process; undefined: none runs, or this user may not see it. */
  readonly environment?: Env | undefined;
}

/** Whether the service runs as systemd started it, with the environment of its file. Throws `unavailable` when it does not. Pure. */
export function judgeService(unit: UnitFacts, env: Env, environmentFile: string): Said {
  const { name, active, sub, file, restarts, lastError } = unit;
  const why = lastError === undefined ? "" : `; its last error: ${lastError}`;
  if (active !== "active" && active !== "reloading") {
    const again =
      active === "activating" && restarts > 0 ? `ends again and again (started ${restarts} times)` : `does not run (${active}, ${sub}, ${file})`;
    const hint = active === "activating" ? `see: journalctl -u ${name}` : `start it: systemctl enable --now ${name}`;
    throw new PlatformError("unavailable", `${name} ${again}${why}`, { hint });
  }
  const warnings = [
    ...(file === "disabled" ? [`it does not start with the host: systemctl enable ${name}`] : []),
    ...(restarts > 0 ? [`systemd had to start it again, ${restarts} times${why}`] : []),
    ...(unit.statusText.includes("last reload failed") ? [unit.statusText.replace(/^.*?(?=last reload failed)/, "the ")] : []),
    ...otherEnvironment(unit, env, environmentFile),
  ];
  return { says: `${name} runs`, ...(warnings.length > 0 && { warning: warnings.join("; ") }) };
}

function otherEnvironment({ name, environment }: UnitFacts, env: Env, file: string): readonly string[] {
  if (environment === undefined) return [];
  const other = proxyVariables.filter((variable) => (environment[variable] ?? "").trim() !== (env[variable] ?? "").trim());
  if (other.length === 0) return [];
  return [`it was started with another ${other.join(", ")} than ${file} has now: systemctl restart ${name}, at a quiet moment`];
}
