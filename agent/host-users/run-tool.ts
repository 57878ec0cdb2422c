import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PlatformError } from "../../core/errors/platform-error.ts";

const run = promisify(execFile);
/** useradd waits for the lock of the password file by itself, 15 s at most. */
const limitMs = 30_000;

/** Runs a system program, whose name no user chose. Throws `unsupported` when it is missing, `unavailable` with its output when it fails. */
export async function runTool(name: string, args: readonly string[]): Promise<string> {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
  try {
    return (await run(name, [...args], { env, cwd: "/", timeout: limitMs, killSignal: "SIGKILL", maxBuffer: 1_048_576 })).stdout;
  } catch (cause) {
    const { code, stderr = "" } = cause as { code?: number | string; stderr?: string };
    if (code === "ENOENT") throw new PlatformError("unsupported", `${name} is not installed on this host`, { cause });
    throw new PlatformError("unavailable", `${name} failed: ${stderr.trim().split("\n").slice(0, 3).join("; ").slice(0, 500) || String(code)}`, {
      cause,
    });
  }
}

/** Its exit status, when it ran. */
export function exitStatusOf(thrown: unknown): number | undefined {
  const cause = thrown instanceof PlatformError ? thrown.cause : undefined;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return typeof code === "number" ? code : undefined;
}
