import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Processes of one folder, each with its output in `log/NAME.log`. They end with the process namespace that they are in. */
export class Daemons {
  readonly #log: string;
  readonly #running = new Map<string, ChildProcess>();

  constructor(folder: string) {
    this.#log = join(folder, "log");
    mkdirSync(this.#log, { recursive: true });
  }

  start(name: string, command: string, args: readonly string[]): void {
    const out = openSync(join(this.#log, `${name}.log`), "a");
    const child = spawn(command, args, {
      stdio: ["ignore", out, out],
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/" },
    });
    child.on("error", () => {});
    closeSync(out);
    this.#running.set(name, child);
  }

  /** Throws with the end of its output if it has ended. */
  check(name: string): void {
    const child = this.#running.get(name);
    if (child !== undefined && child.exitCode === null && child.signalCode === null) return;
    throw new Error(`${name} has ended:\n${readFileSync(join(this.#log, `${name}.log`), "utf8").slice(-3000)}`);
  }

  async end(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#running.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }
}
