import { type ChildProcess, spawn } from "node:child_process";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { maxLabelValue } from "../../core/resources/metadata.ts";

/** Maximum output, bytes: enough for the longest value in any alphabet and some white space. */
const maxOutput = 4096;

/** Output of a command without surrounding white space. Throws PlatformError, after ending everything that it started. */
export function runLabelCommand([command = "", ...args]: readonly string[], limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"], detached: true, env, cwd: "/" });
    let printed = "";
    const fail = (code: "timeout" | "limit" | "unavailable", message: string, cause?: unknown): void => {
      endGroup(child);
      reject(new PlatformError(code, message, { cause }));
    };
    const timer = setTimeout(() => fail("timeout", `it did not end within ${limitMs / 1000} s`), limitMs);
    child.once("error", (cause) => fail("unavailable", "could not run it", cause));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (printed.length > maxOutput) fail("limit", `it prints more than ${maxOutput} characters`);
    });
    child.once("close", () => clearTimeout(timer));
    child.once("exit", (status, signal) => {
      if (status !== 0) fail("unavailable", signal === null ? `exit status ${status}` : `ended by ${signal}`);
    });
    child.once("close", () => {
      const value = printed.trim();
      if (value.length > maxLabelValue || /\p{Cc}/u.test(value)) fail("limit", `it must print one line of up to ${maxLabelValue} characters`);
      else resolve(value);
    });
  });
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.stdout?.destroy();
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}
