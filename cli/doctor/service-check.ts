import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
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

const run = promisify(execFile);
/** Longest wait for systemd or the journal, ms. */
const limitMs = 10_000;
const properties = ["LoadState", "ActiveState", "SubState", "UnitFileState", "NRestarts", "MainPID", "StatusText"] as const;

/** The service of this host as systemd reports it. Undefined: systemd does not run here, or has no such unit. Never throws. */
export async function lookAtService(name: string): Promise<UnitFacts | undefined> {
  try {
    const { stdout } = await command("systemctl", ["show", name, "--no-pager", ...properties.map((one) => `--property=${one}`)]);
    const shown = new Map(stdout.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
    const text = (property: (typeof properties)[number]): string => shown.get(property) ?? "";
    if (text("LoadState") !== "loaded") return undefined;
    return {
      name,
      active: text("ActiveState"),
      sub: text("SubState"),
      file: text("UnitFileState"),
      restarts: Number(text("NRestarts")) || 0,
      statusText: text("StatusText"),
      lastError: lastError(await journal(name)),
      environment: await environmentOf(text("MainPID")),
    };
  } catch {
    return undefined;
  }
}

async function journal(name: string): Promise<string> {
  try {
    return (await command("journalctl", [`--unit=${name}`, "--lines=200", "--output=cat", "--no-pager", "--quiet"])).stdout;
  } catch {
    return "";
  }
}

/** The last error in a log of this program, text or JSON, or in the output of a command line: a sentence. Pure. */
export function lastError(log: string): string | undefined {
  const lines = log.split("\n");
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const line = lines[at] ?? "";
    const message = /^ERROR: (.*)$/.exec(line)?.[1] ?? /^\S+ ERROR (.*)$/.exec(line)?.[1] ?? jsonError(line);
    if (message !== undefined) return message.slice(0, 500);
  }
  return undefined;
}

function jsonError(line: string): string | undefined {
  if (!/^\{.*"level":"error"/.test(line)) return undefined;
  return /"(?:event|msg|message)":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? line;
}

/** Undefined for a process that does not exist or that this user may not inspect. */
async function environmentOf(pid: string): Promise<Record<string, string> | undefined> {
  if (!/^[1-9]\d{0,9}$/.test(pid)) return undefined;
  try {
    const text = await readFile(`/proc/${pid}/environ`, "utf8");
    return Object.fromEntries(
      text.split("\0").flatMap((one) => (one.includes("=") ? [[one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]] : [])),
    );
  } catch {
    return undefined;
  }
}

function command(file: string, args: readonly string[]): Promise<{ stdout: string }> {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", SYSTEMD_PAGER: "", SYSTEMD_COLORS: "0" };
  return run(file, [...args], { env, timeout: limitMs, maxBuffer: 4 * 1024 * 1024, encoding: "utf8" });
}
