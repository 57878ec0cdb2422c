import type { CommandSpec, OptionSpec } from "../command.ts";
import { identityOption } from "../identity-option.ts";

/** What concerns sessions that run or ran. */
export function sessionCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "sessions",
      summary: "terminal sessions that run now",
      commands: [
        {
          name: "ls",
          summary: "list the sessions that you may see, the newest first",
          details: "List the terminal sessions that run and that you may see: your own, and those that a role lets you join. The newest first.",
          options: [identityOption, proxy],
          formats: ["text", "json", "yaml", "names"],
          examples: ["tsh sessions ls", "tsh sessions ls -f json | jq -r '.[].sid'"],
          run: async (call) => (await import("./sessions.ts")).listSessions(call),
        },
      ],
    },
    {
      name: "join",
      summary: "join a session that runs",
      details:
        "Join a terminal session that runs, where a role allows it (join_sessions); your own always. An observer sees what its owner sees,\na peer types too. An observer leaves with Ctrl-C or ~., a peer with ~. at the start of a line.",
      args: ["<session>"],
      options: [{ flags: "--mode <mode>", text: "observer (default) or peer", choices: ["observer", "peer"] }, identityOption, proxy],
      examples: ["tsh join 2a0e1c9e-…", "tsh join --mode=peer 2a0e1c9e-…"],
      run: async (call) => (await import("./join.ts")).join(call),
    },
    {
      name: "play",
      summary: "play the recording of a session",
      details:
        "Play the recording of a session, by its id or from a file.\nKeys: space pauses, left and right go 10 s back and on, up and down change the speed, q ends.\nWhere standard output is no terminal, all of it is printed at once.",
      args: ["<session|file>"],
      options: [
        { flags: "--speed <factor>", text: "how fast, 0.25 to 16" },
        { flags: "--from <time>", text: "begin there, like 90s or 1:30" },
        {
          flags: "--format <format>",
          text: "pty plays it; asciicast prints asciicast v2; text prints the lines that were shown",
          choices: ["pty", "asciicast", "text"],
        },
        proxy,
      ],
      examples: ["tsh play 2a0e1c9e-…", "tsh play --speed=4 --from=1:30 2a0e1c9e-…", "tsh play --format=asciicast 2a0e1c9e-… > session.cast"],
      run: async (call) => (await import("./play/play.ts")).play(call),
    },
  ];
}
