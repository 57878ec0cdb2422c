import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { type Labels, maxLabelValue } from "../../core/resources/metadata.ts";

/** A label whose value a command prints. */
export interface LabelCommand {
  readonly name: string;
  readonly command: readonly string[];
  /** Interval between two runs, seconds. */
  readonly period: number;
}

/** Timeout for one run, ms. */
const limitMs = 10_000;

/** A host's labels: those of its configuration, and the last output of its commands. */
export class HostLabels {
  #labels: Labels;
  readonly #log: Log;
  readonly #changed: (labels: Labels) => void;
  readonly #failing = new Set<string>();

  private constructor({ fixed, log, changed }: HostLabelsOptions) {
    this.#labels = fixed;
    this.#log = log;
    this.#changed = changed;
  }

  /** Resolves when each command has run once: access is never decided by incomplete labels. They keep running until the signal. */
  static async open(options: HostLabelsOptions, signal: AbortSignal): Promise<HostLabels> {
    const labels = new HostLabels(options);
    await Promise.all(options.commands.map((command) => labels.#look(command)));
    for (const command of options.commands) void labels.#keep(command, signal);
    return labels;
  }

  get current(): Labels {
    return this.#labels;
  }

  async #keep(command: LabelCommand, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(command.period * 1000, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted && (await this.#look(command)) && !signal.aborted) this.#changed(this.#labels);
    }
  }

  /** Returns whether the value changed. A failing command changes nothing: its last value stays, if it has one. */
  async #look({ name, command, period }: LabelCommand): Promise<boolean> {
    try {
      const value = await runLabelCommand(command, Math.min(limitMs, Math.max(1000, period * 1000)));
      if (this.#failing.delete(name)) this.#log.info("label command works again", { label: name });
      if (this.#labels[name] === value) return false;
      this.#labels = { ...this.#labels, [name]: value };
      return true;
    } catch (thrown) {
      if (!this.#failing.has(name)) this.#log.warn("label command failed: keeping its last value", { label: name, error: errorText(thrown) });
      this.#failing.add(name);
      return false;
    }
  }
}

export interface HostLabelsOptions {
  readonly fixed: Labels;
  readonly commands: readonly LabelCommand[];
  readonly log: Log;
  readonly changed: (labels: Labels) => void;
}

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
