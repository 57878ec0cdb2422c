import { Command, CommanderError, Option } from "commander";
import { PlatformError } from "../core/errors/platform-error.ts";
import type { Call, CommandSpec, OptionSpec, Options, ProgramSpec } from "./command.ts";
import type { CliIo } from "./io.ts";
import { type Format, textResult, writeError, writeResult } from "./output.ts";

/** Parses the arguments, runs the command, prints its result. Returns the exit status; never throws. */
export async function runProgram(spec: ProgramSpec, argv: readonly string[], io: CliIo): Promise<number> {
  // A reader that closes early, even after the end, must not crash the process: output.ts handles write errors.
  io.stdout.on("error", ignored);
  io.stderr.on("error", ignored);
  const state: State = { status: 0, help: "" };
  try {
    return await parseAndRun(build(spec, io, state), argv, { io, state });
  } catch (thrown) {
    return thrown instanceof CommanderError ? usage(thrown, commandMeant(spec, argv), io) : writeError(io, thrown);
  }
}

interface State {
  status: number;
  /** Text that commander wants to print. */
  help: string;
}

async function parseAndRun(program: Command, argv: readonly string[], { io, state }: Omit<Running, "first">): Promise<number> {
  try {
    await program.parseAsync([...argv], { from: "user" });
    return state.status;
  } catch (thrown) {
    // Requested help is not a refusal.
    if (!(thrown instanceof CommanderError) || thrown.exitCode !== 0) throw thrown;
    await writeResult(io, textResult(state.help));
    return 0;
  }
}

function ignored(): void {}

function build(spec: ProgramSpec, io: CliIo, state: State): Command {
  const program = new Command(spec.name)
    .description(spec.summary)
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => {
        state.help += text;
      },
      writeErr: () => {},
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
    })
    .helpCommand("help [command]", "show help for a command");
  for (const option of spec.options ?? []) program.addOption(toOption(option));
  for (const command of spec.commands) add(program, command, { io, state, first: () => program.opts() });
  return program;
}

interface Running {
  readonly io: CliIo;
  readonly state: State;
  /** Values of the options that stood before the command. */
  readonly first: () => Readonly<Record<string, unknown>>;
}

function add(parent: Command, spec: CommandSpec, running: Running): void {
  const command = parent.command(spec.name, { hidden: spec.hidden === true }).description(spec.details ?? spec.summary);
  command.summary(spec.summary);
  for (const argument of spec.args ?? []) command.argument(argument);
  for (const option of spec.options ?? []) command.addOption(toOption(option));
  if (spec.formats !== undefined) command.addOption(formatOption(spec));
  if (spec.passThrough === true) command.passThroughOptions();
  if (spec.passUnknown === true) command.allowUnknownOption();
  if (spec.examples !== undefined) command.addHelpText("after", `\nExamples:\n${spec.examples.map((line) => `  ${line}`).join("\n")}`);
  for (const child of spec.commands ?? []) add(command, child, running);
  const run = spec.run;
  if (run === undefined) return;
  command.action(async () => {
    const args = argumentsOf(command, spec);
    const values = withFirst(command, spec, running.first());
    const call: Call = { io: running.io, args, options: readOptions(values) };
    const result = await run(call);
    await writeResult(running.io, result, spec.formats === undefined ? undefined : (values.format as Format | undefined));
    running.state.status = result.status ?? 0;
  });
}

function argumentsOf(command: Command, spec: CommandSpec): readonly string[] {
  if (spec.optionsFollow === true) return takeOptions(command);
  return spec.longOptionsAmong === true ? takeLongOptions(command) : command.args;
}

/** Parses the command's own long options among the arguments of the other command; these are left. Throws as commander does. */
function takeLongOptions(command: Command): readonly string[] {
  const end = command.args.indexOf("--");
  const among = end < 0 ? command.args : command.args.slice(0, end);
  const own: string[] = [];
  const left: string[] = [];
  for (let at = 0; at < among.length; at += 1) {
    const word = among[at] ?? "";
    const option = command.options.find(({ long }) => long !== undefined && (word === long || word.startsWith(`${long}=`)));
    if (option === undefined) left.push(word);
    else own.push(word);
    if (option?.required === true && word === option.long) own.push(...among.slice(at + 1, ++at + 1));
  }
  command.parseOptions(own);
  return end < 0 ? left : [...left, ...command.args.slice(end)];
}

/** Parses the options between the first and the second argument. Throws as commander does, and `invalid` for an unknown one. */
function takeOptions(command: Command): readonly string[] {
  const [first, ...rest] = command.args;
  if (first === undefined) return [];
  const { operands, unknown } = command.parseOptions(rest);
  if (unknown[0] !== undefined) {
    throw new PlatformError("invalid", `unknown option '${unknown[0]}'`, { hint: `put -- before a command that starts with a dash` });
  }
  return [first, ...operands];
}

/** An option before the command applies unless the command repeats it. Throws `invalid` for a command without that option. */
function withFirst(command: Command, spec: CommandSpec, first: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const known = new Set(command.options.map((option) => option.attributeName()));
  const foreign = Object.keys(first).find((name) => !known.has(name));
  if (foreign !== undefined) throw new PlatformError("invalid", `${spec.name} has no option --${foreign}`, { hint: "leave it out" });
  return { ...first, ...command.opts<Record<string, unknown>>() };
}

function toOption(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.text);
  if (spec.choices !== undefined) option.choices(spec.choices);
  if (spec.required === true) option.makeOptionMandatory();
  if (spec.hidden === true) option.hideHelp();
  if (spec.counted === true) option.preset("once").argParser((_value: string, before: unknown) => (typeof before === "number" ? before + 1 : 1));
  const { refused } = spec;
  if (refused !== undefined) {
    option.preset("").argParser(() => {
      throw new PlatformError("unsupported", refused, { hint: "docs/ssh-in-place.md lists the supported options" });
    });
  }
  if (spec.multiple === true) option.argParser((value: string, before: unknown) => [...(Array.isArray(before) ? before : []), value]);
  return option;
}

function formatOption(spec: CommandSpec): Option {
  const flags = spec.longFormatOnly === true ? "--format <format>" : "-f, --format <format>";
  return new Option(flags, "how to print the result").choices(spec.formats ?? []).default(spec.formats?.[0]);
}

function readOptions(values: Readonly<Record<string, unknown>>): Options {
  const all = (name: string): readonly string[] => {
    const value = values[name];
    return typeof value === "string" ? [value] : Array.isArray(value) ? value.map(String) : [];
  };
  return {
    text: (name) => all(name)[0],
    list: (name) =>
      all(name)
        .flatMap((value) => value.split(","))
        .map((value) => value.trim())
        .filter((value) => value !== ""),
    values: all,
    flag: (name) => {
      if (/^no[A-Z]/.test(name)) throw new Error(`${name}: commander treats --no-x as the negation of x, which is true otherwise`);
      return values[name] === true || typeof values[name] === "number";
    },
    count: (name) => (typeof values[name] === "number" ? values[name] : values[name] === true ? 1 : 0),
  };
}

/** The command that the arguments name, with the program's name: `tctl users add`. A word before it may be an option's value. */
function commandMeant(spec: ProgramSpec, argv: readonly string[]): string {
  let commands: readonly CommandSpec[] = spec.commands;
  const names = [spec.name];
  for (const word of argv) {
    const inner = commands.find(({ name }) => name === word);
    if (inner === undefined && names.length > 1 && !word.startsWith("-")) break;
    if (inner === undefined) continue;
    names.push(inner.name);
    commands = inner.commands ?? [];
  }
  return names.join(" ");
}

/** Commander's refusals in our format. */
function usage(error: CommanderError, command: string, io: CliIo): number {
  if (error.code === "commander.help") {
    return writeError(io, new PlatformError("invalid", "no command was given", { hint: `see: ${command} --help` }));
  }
  const [first = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = /\(Did you mean (.*)\?\)/.exec(rest.join(" "))?.[1];
  const hint = suggestion === undefined ? `see: ${command} --help` : `did you mean ${suggestion}?`;
  return writeError(io, new PlatformError("invalid", first, { hint }));
}
