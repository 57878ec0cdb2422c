import { version } from "../../core/versions/version.ts";
import type { ProgramSpec } from "../command.ts";
import { completionCommand } from "../completion-command.ts";
import { configureCommand } from "./configure.ts";
import type { Services } from "./services.ts";
import { startCommand } from "./start.ts";

/** The server program's command line. */
export function platformProgram(services: Services): ProgramSpec {
  const program: ProgramSpec = {
    name: "platform",
    summary: "Access platform: control (auth and proxy services) and agent.",
    commands: [
      startCommand(services),
      configureCommand,
      {
        name: "version",
        summary: "show the version",
        formats: ["text", "json", "yaml"],
        run: async () => ({ data: { version, runtime: process.version }, text: `platform ${version}` }),
      },
      completionCommand(() => program),
    ],
  };
  return program;
}
