import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Exit } from "../../host/spawn.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../user-connection.ts";

/**
 * Whether a command is the far side of scp, sftp or rsync, by its name. A user with a shell can always move bytes through it,
 * which `ssh_file_copy: false` does not promise to prevent.
 */
export function isFileCopy(command: string): boolean {
  const words = command.trim().split(/\s+/);
  const program = (words[0] ?? "").replace(/^.*\//, "");
  if (program === "scp") return words.slice(1).some((word) => /^-[a-zA-Z]*[tf]/.test(word));
  if (program === "rsync") return words.includes("--server");
  return program === "sftp-server" || program === "internal-sftp";
}

export function fileCopyRefused(): PlatformError {
  return new PlatformError("denied", "access denied: a role forbids copying files (ssh_file_copy: false)");
}

/** A request to the far side of scp. */
export interface ScpCopy {
  /** As seen from the host. */
  readonly action: "upload" | "download";
  /** As the client wrote it for the host's shell. */
  readonly path: string;
}

/** Undefined: the command is not the far side of scp (`scp -t PATH`, `scp -f PATH`). */
export function scpOf(command: string): ScpCopy | undefined {
  const [program = "", ...words] = command.trim().split(/\s+/);
  if (program.replace(/^.*\//, "") !== "scp") return undefined;
  const first = words.findIndex((word) => !/^-[a-zA-Z]/.test(word));
  const options = first === -1 ? words : words.slice(0, first);
  const side = options.map((word) => /[tf]/.exec(word)?.[0]).find((letter) => letter !== undefined);
  if (side === undefined || first === -1) return undefined;
  const rest = words.slice(words[first] === "--" ? first + 1 : first);
  return { action: side === "t" ? "upload" : "download", path: rest.join(" ") };
}

/** Runs the far side of scp and records how the copy ended; the files' bytes are in the session's counts. */
export async function runScp(copy: ScpCopy, channel: SessionChannel, run: () => Promise<Exit>): Promise<Exit> {
  const facts = { event: "scp", ...sessionFacts(channel.facts, channel.sid), ...copy } as const;
  let exit: Exit;
  try {
    exit = await run();
  } catch (thrown) {
    await recordOrLog(channel.facts.deps, { ...facts, error: errorText(thrown) });
    throw thrown;
  }
  const error = exit.signal === null ? exit.code !== 0 && `exit status ${exit.code}` : `ended by ${exit.signal}`;
  await recordOrLog(channel.facts.deps, { ...facts, ...(exit.code !== null && { exit_code: exit.code }), ...(error !== false && { error }) });
  return exit;
}
