import type { CommandSpec, OptionSpec } from "../command.ts";
import { identityOption } from "../shared-commands.ts";

/** A command that joins a session of whatever kind; `called`: what users type to reach it. */
export function joinCommand(called: "tsh join" | "tsh kube join", proxy: OptionSpec): CommandSpec {
  return {
    name: "join",
    summary: called === "tsh join" ? "join a running session" : "join a running session in a pod",
    details:
      "Join a running terminal session on a host or in a pod, if a role allows it (join_sessions); your own always. An observer sees\nwhat its owner sees, a peer types too. An observer leaves with Ctrl-C or ~., a peer with ~. at the start of a line.",
    args: ["<session>"],
    options: [{ flags: "--mode <mode>", text: "observer (default) or peer", choices: ["observer", "peer"] }, identityOption, proxy],
    examples: [`${called} 2a0e1c9e-…`, `${called} --mode=peer 2a0e1c9e-…`],
    run: async (call) => (await import("./sessions.ts")).join(call),
  };
}
