import { spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { HandedSocket } from "../../../core/transport/listen-sockets.ts";

/** Environment variable of a successor: the descriptor of the socket between the two. */
export const handoverVariable = "PLATFORM_HANDOVER";
/** Descriptors of the new process: that socket, then the listening sockets. */
export const channelFd = 3;
const firstSocketFd = 5;

export interface SuccessorOptions {
  /** Program and arguments of this process, for the program now on disk. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sockets: readonly HandedSocket[];
  /** Called at once with the socket between the two, and the listening sockets as the new process knows them. */
  readonly attach: (channel: Socket, sockets: readonly HandedSocket[]) => void;
}

/**
 * Starts it in the background of a shell that ends at once: its parent is then init, and the service manager can follow
 * it as its own child. Descriptor 4 carries our standard output past the shell, whose own carries the process id.
 */
const script = '"$@" 1>&4 4>&- & echo $!';
const startMs = 10_000;

/** Its process id. Throws PlatformError when no process can be made. The process itself reports that it runs and what it is. */
export async function startSuccessor({ command, env, sockets, attach }: SuccessorOptions): Promise<number> {
  const failed = (cause: unknown): PlatformError => new PlatformError("unavailable", `could not start a new process: ${errorText(cause)}`, { cause });
  try {
    const child = spawn("/bin/sh", ["-c", script, "sh", ...command], {
      stdio: ["ignore", "pipe", "inherit", "pipe", 1, ...sockets.map(({ fd }) => fd)],
      env: { ...env, [handoverVariable]: String(channelFd) },
    });
    child.on("error", () => {});
    const channel: unknown = child.stdio[channelFd];
    if (!(channel instanceof Socket) || child.stdout === null) throw new Error("the new process has no channel");
    // Before anything is awaited: once the shell has ended, Node discards data without a listener.
    attach(
      channel,
      sockets.map((socket, index) => ({ ...socket, fd: firstSocketFd + index })),
    );
    const pid = Number(await firstLine(child.stdout));
    if (!Number.isInteger(pid) || pid <= 1) throw new Error("the shell printed no process id");
    return pid;
  } catch (cause) {
    throw failed(cause);
  }
}

async function firstLine(stream: Readable): Promise<string> {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  await once(stream, "end", { signal: AbortSignal.timeout(startMs) });
  return text.split("\n")[0] ?? "";
}
