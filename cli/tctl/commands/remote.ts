import type { CommandSpec, OptionSpec } from "../../command.ts";
import type { Format } from "../../output.ts";
import { identityOption } from "../../shared-commands.ts";

export const proxyOption: OptionSpec = {
  flags: "--proxy <address>",
  text: "web address of the proxy, host[:port]: selects the tsh login, and is the start of printed links",
};
/** Options of commands that read the auth host's own files. */
export const hostOptions: readonly OptionSpec[] = [
  { flags: "-c, --config <file>", text: "configuration of this auth host; default: /etc/platform.yaml" },
  { flags: "--data-dir <folder>", text: "data folder of this auth host; default: PLATFORM_DATA_DIR, the configuration, /var/lib/platform" },
];
/** Options of every command that talks to the auth service. */
const connection: readonly OptionSpec[] = [...hostOptions, proxyOption, identityOption];
const all: readonly Format[] = ["text", "json", "yaml"];

/** The same without an output format. */
export function connected(spec: CommandSpec): CommandSpec {
  return { ...spec, options: [...(spec.options ?? []), ...connection] };
}

/** Adds the shared options of commands that talk to the auth service. */
export function remote(spec: CommandSpec): CommandSpec {
  return { ...connected(spec), formats: spec.formats ?? all };
}
