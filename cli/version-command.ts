import { version } from "../core/versions/version.ts";
import type { CommandSpec } from "./command.ts";

export function versionCommand(program: string): CommandSpec {
  return {
    name: "version",
    summary: "print the version",
    formats: ["text", "json", "yaml"],
    run: () => Promise.resolve({ data: { version }, text: `${program} ${version}` }),
  };
}
