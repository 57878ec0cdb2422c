import type { ClientChannel } from "ssh2";
import { execBytes, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { encodeTerminalModes, type TerminalModes } from "../../core/ssh/terminal-modes.ts";

export interface Ran {
  readonly code: number | null;
  readonly signal: string | undefined;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  readonly pty?: boolean;
  /** Of the terminal. */
  readonly modes?: TerminalModes;
  /** ssh2 takes bytes as values too. */
  readonly env?: Record<string, string | Buffer>;
  /** May write to and end standard input, which is ended at once otherwise. */
  readonly feed?: (channel: ClientChannel) => void;
}

/** Runs one command to its end. */
export function runCommand(client: SshConnection, command: Buffer | string, options: RunOptions = {}) {
  return new Promise<Ran>((resolve, reject) => {
    const modes = options.modes && { modes: encodeTerminalModes(options.modes) as object };
    const settings = {
      ...(options.pty && { pty: { rows: 33, cols: 101, term: "xterm-256color", ...modes } }),
      ...(options.env && { env: options.env as NodeJS.ProcessEnv }),
    };
    execBytes(client, command, settings, (error, channel) => {
      if (error) return void reject(error);
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      let exit: { code: number | null; signal: string | undefined } = { code: null, signal: undefined };
      channel.on("data", (chunk: Buffer) => out.push(chunk));
      channel.stderr.on("data", (chunk: Buffer) => err.push(chunk));
      channel.on("exit", (code: number | null, signal?: string) => {
        exit = { code, signal };
      });
      channel.on("close", () => resolve({ ...exit, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() }));
      channel.on("error", () => {});
      if (options.feed) options.feed(channel);
      else channel.end();
    });
  });
}
