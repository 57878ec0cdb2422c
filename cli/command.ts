import type { CliIo } from "./io.ts";
import type { Format, Result } from "./output.ts";

/** One command of a program, as data: the parser, the help and the shell completion are made from it. */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  /** Shown above the options in the command's own help. */
  readonly details?: string;
  /** In commander's form: `<user>`, `[search...]`. */
  readonly args?: readonly string[];
  readonly options?: readonly OptionSpec[];
  readonly examples?: readonly string[];
  /** Formats that `--format` takes, the default first; left out: the command has no `--format`. */
  readonly formats?: readonly Format[];
  /** `-f` means something else here: only the long `--format`. */
  readonly longFormatOnly?: boolean;
  /** Options end at the first argument: the rest belongs to another command (`tsh ssh host ls -l`). */
  readonly passThrough?: boolean;
  /** Options may also follow the first argument, as ssh takes them after the host. */
  readonly optionsFollow?: boolean;
  readonly hidden?: boolean;
  readonly run?: (call: Call) => Promise<Result>;
  readonly commands?: readonly CommandSpec[];
}

export interface OptionSpec {
  /** `-l, --login <name>`, `--insecure`, `--pin <pin...>`. */
  readonly flags: string;
  readonly text: string;
  readonly choices?: readonly string[];
  readonly required?: boolean;
  /** May be given several times: all values are kept. */
  readonly multiple?: boolean;
  /** A flag whose number of times matters. */
  readonly counted?: boolean;
  /** Not in the help, nor completed. */
  readonly hidden?: boolean;
  /** Known, and not to be had: why. */
  readonly refused?: string;
}

export interface Call {
  readonly io: CliIo;
  /** Arguments in order; a variadic one is spread. */
  readonly args: readonly string[];
  readonly options: Options;
}

/** Values of options by their long name in camel case. */
export interface Options {
  text(name: string): string | undefined;
  /** Every value of an option that may be repeated, commas split. */
  list(name: string): readonly string[];
  /** Every value of an option that may be repeated, as it was given. */
  values(name: string): readonly string[];
  flag(name: string): boolean;
  /** How often a flag was given. */
  count(name: string): number;
}

export interface ProgramSpec {
  readonly name: string;
  readonly summary: string;
  /** May stand before the command too, for commands that have them: `tsh -i file ls`. */
  readonly options?: readonly OptionSpec[];
  readonly commands: readonly CommandSpec[];
}
