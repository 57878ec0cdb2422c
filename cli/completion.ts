import type { CommandSpec, OptionSpec, ProgramSpec } from "./command.ts";

export type Shell = "bash" | "zsh" | "fish";

/** Words that may follow one command: made from the same table as the parser. */
interface Place {
  /** `tctl users add` → ["users", "add"]. */
  readonly path: readonly string[];
  readonly commands: readonly (readonly [name: string, summary: string])[];
  readonly flags: readonly (readonly [flag: string, text: string])[];
  /** Values of a flag with choices. */
  readonly choices: readonly (readonly [flag: string, values: readonly string[]])[];
}

export function completionScript(program: ProgramSpec, shell: Shell): string {
  const places = collect([], { name: program.name, summary: program.summary, options: program.options ?? [], commands: program.commands });
  if (shell === "fish") return fishScript(program.name, places);
  const functions = bashFunction(program.name, places);
  return shell === "bash" ? `${functions}complete -o default -F _${program.name}_complete ${program.name}\n` : zshScript(program.name, functions);
}

function collect(path: readonly string[], spec: CommandSpec): readonly Place[] {
  const children = (spec.commands ?? []).filter((command) => command.hidden !== true);
  const options: readonly OptionSpec[] = [
    ...(spec.options ?? []).filter((option) => option.hidden !== true),
    ...formatOption(spec),
    { flags: "-h, --help", text: "show help" },
  ];
  const named = options.flatMap((option) => flagNames(option.flags).map((flag) => [flag, option] as const));
  const place: Place = {
    path,
    commands: children.map((command) => [command.name, command.summary]),
    flags: named.map(([flag, option]) => [flag, option.text]),
    choices: named.flatMap(([flag, { choices }]) => (choices === undefined ? [] : [[flag, choices] as const])),
  };
  return [place, ...children.flatMap((command) => collect([...path, command.name], command))];
}

function formatOption({ formats, longFormatOnly }: CommandSpec): readonly OptionSpec[] {
  if (formats === undefined) return [];
  return [{ flags: `${longFormatOnly === true ? "" : "-f, "}--format <format>`, text: "how to print the result", choices: formats }];
}

function flagNames(flags: string): readonly string[] {
  return flags.match(/(?<![A-Za-z0-9<])--?[A-Za-z][A-Za-z-]*/g) ?? [];
}

/** The commands typed so far make the path; the words of that path are offered. `--format=x` works with = as well. */
function bashFunction(name: string, places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(" ")));
  const cases = places.map(({ path, commands, flags }) => {
    const words = [...commands.map(([command]) => command), ...flags.map(([flag]) => flag)];
    return `    ${quoted(path.join(" "))}) words=${quoted(words.join(" "))} ;;`;
  });
  const values = places.flatMap(({ path, choices }) =>
    choices.map(([flag, values]) => `    ${quoted([...path, flag].join(" "))}) words=${quoted(values.join(" "))} ;;`),
  );
  return `_${name}_complete() {
  local cur=\${COMP_WORDS[COMP_CWORD]} flag= path= word= next= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    next=\${path:+$path }$word
    case "$next" in
      ${paths.join("|")}) path=$next ;;
    esac
  done
  flag=\${COMP_WORDS[COMP_CWORD-1]}
  if [ "$cur" = "=" ]; then cur=; elif [ "$flag" = "=" ]; then flag=\${COMP_WORDS[COMP_CWORD-2]}; fi
  case "$cur" in --*=*) flag=\${cur%%=*}; cur=\${cur#*=} ;; esac
  case "\${path:+$path }$flag" in
${values.join("\n")}
  esac
  [ -n "$words" ] || case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
`;
}

function zshScript(name: string, functions: string): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${functions}complete -o default -F _${name}_complete ${name}\n`;
}

function fishScript(name: string, places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, flags, choices }) => {
    const here = condition(path, commands);
    return [
      ...commands.map(([command, summary]) => `complete -c ${name} -f -n ${here} -a ${command} -d ${quoted(summary)}`),
      ...flags.map(([flag, text]) => {
        const values = choices.find(([one]) => one === flag)?.[1];
        const form = flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
        return `complete -c ${name} -n ${here} ${form}${values === undefined ? "" : ` -x -a ${quoted(values.join(" "))}`} -d ${quoted(text)}`;
      }),
    ];
  });
  return `${lines.join("\n")}\n`;
}

/** Every word of the path was typed, but no deeper command. */
function condition(path: readonly string[], commands: Place["commands"]): string {
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
  const deeper = commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${commands.map(([command]) => command).join(" ")}`];
  return quoted([...seen, ...deeper].join("; and ") || "true");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
