import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import type { Said } from "./examination.ts";

/** Maximum wait, ms: it queries the version endpoint and the package manager. */
const limitMs = 90_000;

/**
 * Asks the updater of this host for its findings (`dry-run` changes nothing), with the environment of its unit.
 * Undefined: there is none, or this user is not root. Throws `unavailable` for a result that needs an admin.
 */
export async function examineUpdater(env: Env, program = "/usr/sbin/platform-upgrade"): Promise<Said | undefined> {
  if (process.getuid?.() !== 0 || !(await isProgram(program))) return undefined;
  const { stdout, failed } = await dryRun(program, env);
  const fields = lastFields(stdout);
  const why = fields.get("detail") ?? fields.get("reason") ?? fields.get("would") ?? stdout.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
  if (!failed) return { says: `the updater gets its answer${why === "" ? "" : `: ${why}`}` };
  throw new PlatformError("unavailable", `the updater cannot proceed${why === "" ? "" : `: ${why}`}`, {
    hint: `see docs/upgrade-reasons.md${fields.has("reason") ? ` for ${fields.get("reason")}` : ""}, and: platform-upgrade dry-run`,
  });
}

async function isProgram(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function dryRun(program: string, env: Env): Promise<{ stdout: string; failed: boolean }> {
  return new Promise((resolve) => {
    const options = { env: { ...env }, timeout: limitMs, maxBuffer: 1024 * 1024, encoding: "utf8" } as const;
    execFile(program, ["dry-run"], options, (error, stdout) => resolve({ stdout, failed: error !== null }));
  });
}

/** `name=value name="a value"` of the last line with such fields. Pure. */
export function lastFields(output: string): ReadonlyMap<string, string> {
  const line = output.split("\n").findLast((one) => /^(?:reason|would)=/.test(one)) ?? "";
  const fields = line.matchAll(/([a-z_]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/g);
  return new Map([...fields].map(([, name = "", quoted, plain = ""]) => [name, quoted?.replace(/\\(.)/g, "$1") ?? plain]));
}
