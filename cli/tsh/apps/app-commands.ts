import type { CommandSpec, OptionSpec } from "../../command.ts";
import { identityOption } from "../../shared-commands.ts";

/** Commands for applications, except `tsh proxy app`. */
export function appCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "apps",
      summary: "applications behind agents",
      commands: [
        {
          name: "ls",
          summary: "list the applications that you may use",
          details: "List the applications that connected agents offer and that your roles allow (app_labels). Reach one with tsh proxy app.",
          options: [identityOption, proxy],
          formats: ["text", "json", "yaml", "names"],
          examples: ["tsh apps ls", "tsh apps ls -f json | jq -r '.[].name'"],
          run: async (call) => (await import("./apps.ts")).listApps(call),
        },
      ],
    },
  ];
}

/** `tsh proxy app`. */
export function proxyAppCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "app",
    summary: "reach an application at a local port",
    details: "Listen on a port of 127.0.0.1 and pass each connection to the application, until the command is interrupted.",
    args: ["<name>"],
    options: [{ flags: "--port <port>", text: "local port; default: any free port" }, identityOption, proxy],
    examples: ["tsh proxy app orders --port=9000"],
    run: async (call) => (await import("./apps.ts")).proxyApp(call),
  };
}
