import { recordingFormats } from "../../core/recording/formats.ts";
import type { CommandSpec, OptionSpec } from "../command.ts";
import { identityOption } from "../identity-option.ts";

/** Commands for running and recorded sessions. */
export function sessionCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "sessions",
      summary: "running terminal sessions",
      commands: [
        {
          name: "ls",
          summary: "list the running sessions that you may see, newest first",
          details: "List the running terminal sessions that you may see: your own, and those that a role lets you join. Newest first.",
          options: [identityOption, proxy],
          formats: ["text", "json", "yaml", "names"],
          examples: ["tsh sessions ls", "tsh sessions ls -f json | jq -r '.[].sid'"],
          run: async (call) => (await import("./sessions.ts")).listSessions(call),
        },
      ],
    },
    {
      name: "join",
      summary: "join a running session",
      details:
        "Join a running terminal session, if a role allows it (join_sessions); your own always. An observer sees what its owner sees,\na peer types too. An observer leaves with Ctrl-C or ~., a peer with ~. at the start of a line.",
      args: ["<session>"],
      options: [{ flags: "--mode <mode>", text: "observer (default) or peer", choices: ["observer", "peer"] }, identityOption, proxy],
      examples: ["tsh join 2a0e1c9e-…", "tsh join --mode=peer 2a0e1c9e-…"],
      run: async (call) => (await import("./join.ts")).join(call),
    },
    {
      name: "play",
      summary: "play the recording of a session",
      details:
        "Play the recording of a session, by its id or from a file.\nKeys: space pauses, left and right go 10 s back and forward, up and down change the speed, q ends.\nIf standard output is not a terminal, everything is printed at once.",
      args: ["<session|file>"],
      options: [
        { flags: "--speed <factor>", text: "playback speed, 0.25 to 16" },
        { flags: "--from <time>", text: "start there, like 90s or 1:30" },
        {
          flags: "--format <format>",
          text: "pty plays it; asciicast prints asciicast v2; text prints the lines that were shown",
          choices: ["pty", ...Object.keys(recordingFormats), "text"],
        },
        proxy,
      ],
      examples: ["tsh play 2a0e1c9e-…", "tsh play --speed=4 --from=1:30 2a0e1c9e-…", "tsh play --format=asciicast 2a0e1c9e-… > session.cast"],
      run: async (call) => (await import("./play/play.ts")).play(call),
    },
  ];
}
