import { version } from "../../core/versions/version.ts";
import type { ProgramSpec } from "../command.ts";
import { completionCommand } from "../shared-commands.ts";
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
        summary: "find out where this host's connection to its cluster fails, and what to do",
        details:
          "Check the path from this host to its cluster step by step, as the service takes it: configuration, identity, HTTP proxy and why, name,\nconnection, TLS, certificate, version, clock, tunnel, access, the databases of the configuration. The exit status is that of the first failure.",
        options: [
          { flags: "-c, --config <file>", text: "configuration file; default /etc/platform.yaml" },
          { flags: "--environment-file <file>", text: "environment of the service; default /etc/default/platform" },
        ],
        formats: ["text", "json", "yaml"],
        examples: ["platform doctor", "platform doctor --format json | jq -r .stops_at"],
        run: async (call) => (await import("./doctor.ts")).doctor(call, services.checkDatabases),
      },
      {
        name: "leave",
        summary: "take this host out of its cluster, so that it can join another",
        details:
          "Remove this host from its cluster, and then its identity from data_dir. The service must be stopped.\nIf the cluster cannot be reached, nothing is removed: the identity is needed for the next attempt. It is safe to repeat.",
        options: [
          { flags: "-c, --config <file>", text: "configuration file; default /etc/platform.yaml" },
          { flags: "--proxy <address>", text: "proxy of the cluster to leave, when the configuration names another cluster's" },
          { flags: "--environment-file <file>", text: "environment of the service, whose HTTP proxy is used; default /etc/default/platform" },
          { flags: "--local-only", text: "remove the identity alone, without asking the cluster: for one that is gone" },
        ],
        formats: ["text", "json", "yaml"],
        examples: ["systemctl stop platform && platform leave && systemctl start platform"],
        run: async (call) => (await import("./leave.ts")).leave(call),
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
