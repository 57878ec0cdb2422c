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
          details:
            "List the applications that connected agents offer and that your roles allow (app_labels). Reach one with tsh proxy app, a web application also\nat its public address: with a browser, or with the certificate of tsh apps login.",
          options: [identityOption, proxy],
          formats: ["text", "json", "yaml", "names"],
          examples: ["tsh apps ls", "tsh apps ls -f json | jq -r '.[].name'"],
          run: async (call) => (await import("./apps.ts")).listApps(call),
        },
        ...loginCommands(proxy),
      ],
    },
  ];
}

function loginCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "login",
      summary: "get a certificate for an application",
      details:
        "Get a certificate for this application only, valid as long as the login. With it curl and other programs\nreach the application at its public address, without tsh.",
      args: ["<name>"],
      options: [proxy],
      formats: ["text", "json", "yaml"],
      examples: ["tsh apps login wiki", "$(tsh apps config wiki --format=curl)"],
      run: async (call) => (await import("./app-login.ts")).loginApp(call),
    },
    {
      name: "logout",
      summary: "delete certificates for applications",
      details: "Delete the certificate for an application; without a name those for all of the cluster.",
      args: ["[name]"],
      options: [proxy],
      formats: ["text", "json", "yaml"],
      examples: ["tsh apps logout wiki", "tsh apps logout"],
      run: async (call) => (await import("./app-login.ts")).logoutApp(call),
    },
    {
      name: "config",
      summary: "print the address and files of an application",
      details:
        "Print address, authority, certificate and key of an application, after tsh apps login. The formats uri, ca, cert and key\nprint one of them, and curl a command.",
      args: ["[name]"],
      options: [proxy],
      formats: ["text", "uri", "ca", "cert", "key", "curl", "json", "yaml"],
      examples: [
        "tsh apps config wiki",
        'curl --cert "$(tsh apps config wiki --format=cert)" --key "$(tsh apps config wiki --format=key)" "$(tsh apps config wiki --format=uri)"',
      ],
      run: async (call) => (await import("./app-login.ts")).showAppConfig(call),
    },
  ];
}

/** `tsh proxy app`. */
export function proxyAppCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "app",
    summary: "reach an application at a local port",
    details:
      "Listen on a port of 127.0.0.1 and pass each connection to the application, until the command is interrupted.\nA web application is there as http://, without a login: HTTP/1.1, and HTTP/2 with prior knowledge, as gRPC speaks it.\nA request for another host than 127.0.0.1 or localhost, with this port, is refused: it may be the page of another site.",
    args: ["<name>"],
    options: [
      {
        flags: "--port <local[:target]>",
        text: "local port, 0 for any free one, which is the default; and, of an application with several ports, the one that is meant",
      },
      {
        flags: "--host <names>",
        text: "further hosts by which clients name the port, with or without a port of theirs; separated by commas",
        multiple: true,
      },
      identityOption,
      proxy,
    ],
    examples: ["tsh proxy app orders --port=9000", "tsh proxy app postgres --port=9000:5432"],
    run: async (call) => (await import("./apps.ts")).proxyApp(call),
  };
}
