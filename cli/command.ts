import type { CliIo } from "./io.ts";
import type { Format, Result } from "./output.ts";

/** One command of a program, as data: source of the parser, the help and the shell completion. */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  /** Text shown above the options in the command's own help. */
  readonly details?: string;
  /** Arguments in commander's form: `<user>`, `[search...]`. */
  readonly args?: readonly string[];
  readonly options?: readonly OptionSpec[];
  readonly examples?: readonly string[];
  /** Formats of `--format`, the default first; without it the command has no `--format`. */
  readonly formats?: readonly Format[];
  /** `-f` has another meaning here: only the long `--format` exists. */
  readonly longFormatOnly?: boolean;
  /** Options end at the first argument: the rest belongs to another command (`tsh ssh host ls -l`). */
  readonly passThrough?: boolean;
  /** Options that are not known belong to the other command too, also before the first argument. */
  readonly passUnknown?: boolean;
  /** Options may also follow the first argument, as ssh takes them after the host. */
  readonly optionsFollow?: boolean;
  /** Its own long options may stand among the other command's arguments, as far as a `--`: those must not have the same ones. */
  readonly longOptionsAmong?: boolean;
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
  /** A flag that is counted. */
  readonly counted?: boolean;
  /** Hidden from the help and from completion. */
  readonly hidden?: boolean;
  /** Known but not supported: the reason. */
  readonly refused?: string;
}

export interface Call {
  readonly io: CliIo;
  /** Arguments in order; a variadic one is spread. */
  readonly args: readonly string[];
  readonly options: Options;
}

/** Values of options, by their long name in camel case. */
export interface Options {
  text(name: string): string | undefined;
  /** All values of a repeatable option, split at commas. */
  list(name: string): readonly string[];
  /** All values of a repeatable option, as given. */
  values(name: string): readonly string[];
  flag(name: string): boolean;
  /** How often a flag was given. */
  count(name: string): number;
}

export interface ProgramSpec {
  readonly name: string;
  readonly summary: string;
  /** Options that may also precede the command, for commands that have them: `tsh -i file ls`. */
  readonly options?: readonly OptionSpec[];
  readonly commands: readonly CommandSpec[];
}
