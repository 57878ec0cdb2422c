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
        name: "doctor",
        summary: "say where this host's connection to its cluster stops, and what to do",
        details:
          "Look at the way from this host to its cluster step by step, as the service goes it: configuration, identity, HTTP proxy and why, name,\nconnection, TLS, certificate, version, clock, tunnel, access. The exit status is that of what failed.",
        options: [
          { flags: "-c, --config <file>", text: "configuration file; default /etc/platform.yaml" },
          { flags: "--environment-file <file>", text: "environment of the service; default /etc/default/platform" },
        ],
        formats: ["text", "json", "yaml"],
        examples: ["platform doctor", "platform doctor --format json | jq -r .stops_at"],
        run: async (call) => (await import("./doctor.ts")).doctor(call),
      },
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
