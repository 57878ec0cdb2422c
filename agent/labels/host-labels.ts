import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { runLabelCommand } from "./run-label-command.ts";

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
