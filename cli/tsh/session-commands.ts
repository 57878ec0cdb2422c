import type { CommandSpec, OptionSpec } from "../command.ts";

/** What concerns sessions that run or ran. */
export function sessionCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
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
