import type { CommandSpec, OptionSpec } from "../../command.ts";
import type { Format } from "../../output.ts";

/** Of every command that talks to the auth service. */
const connection: readonly OptionSpec[] = [
  { flags: "-c, --config <file>", text: "configuration of this auth host; default: /etc/platform.yaml" },
  { flags: "--data-dir <folder>", text: "data folder of this auth host; default: PLATFORM_DATA_DIR, the configuration, /var/lib/platform" },
  { flags: "--proxy <address>", text: "web address of the proxy, host[:port]: which tsh login to use, and what printed links start with" },
];
const all: readonly Format[] = ["text", "json", "yaml"];

/** Adds what commands that talk to the auth service share. */
export function remote(spec: CommandSpec): CommandSpec {
  return { ...spec, options: [...(spec.options ?? []), ...connection], formats: spec.formats ?? all };
}
