import { version } from "../core/versions/version.ts";
import type { CommandSpec, OptionSpec, ProgramSpec } from "./command.ts";
import { textResult } from "./output.ts";

/*
 * What the programs have in common: one option, two commands. They are loaded at the start of each.
 */

export const identityOption: OptionSpec = {
  flags: "-i, --identity <file>",
  text: "identity file of `tctl auth sign` to use instead of a login; needs --proxy or TSH_PROXY",
};

export function versionCommand(program: string): CommandSpec {
  return {
    name: "version",
    summary: "print the version",
    formats: ["text", "json", "yaml"],
    run: () => Promise.resolve({ data: { version }, text: `${program} ${version}` }),
  };
}

/** `completion <shell>` of a program whose command table is complete when this runs. */
export function completionCommand(program: () => ProgramSpec): CommandSpec {
  const shells = ["bash", "zsh", "fish"] as const;
  return {
    name: "completion",
    summary: "print a completion script for a shell",
    commands: shells.map((shell) => ({
      name: shell,
      summary: `for ${shell}`,
      examples: [example[shell]],
      run: async () => textResult((await import("./completion.ts")).completionScript(program(), shell).trimEnd()),
    })),
  };
}

const example = {
  bash: 'eval "$(tsh completion bash)"     # in ~/.bashrc; the same for tctl and platform',
  zsh: 'eval "$(tsh completion zsh)"      # in ~/.zshrc, after compinit; the same for tctl and platform',
  fish: "tsh completion fish | source      # in ~/.config/fish/config.fish; the same for tctl",
} as const;
