import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { type Exit, socketPair, spawn } from "./spawn.ts";

export interface CaptureOptions {
  readonly path: string;
  readonly args: readonly string[];
  /** Total time limit, ms. */
  readonly limitMs: number;
  readonly maxBytes: number;
}

/**
 * Output and exit status of a short system program. It has no standard input, and its standard error is discarded. Throws Error when it cannot
 * be started, takes too long or prints too much: it is killed then.
 */
export async function capture({ path, args, limitMs, maxBytes }: CaptureOptions): Promise<Exit & { readonly stdout: string }> {
  const nothing = openSync("/dev/null", "r+");
  const [ours, theirs] = socketPair();
  const output = new Socket({ fd: ours, writable: false });
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  output.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) reject(new Error(`${path} printed more than ${maxBytes} bytes`));
  });
  output.once("error", reject).once("close", () => resolve());
  const timer = setTimeout(() => reject(new Error(`${path} did not end within ${limitMs / 1000} s`)), limitMs);
  try {
    const program = start({ path, argv: [path, ...args], env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, fds: [nothing, theirs, nothing] });
    try {
      await ended;
      const exit = await program.exited;
      return { ...exit, stdout: Buffer.concat(chunks).toString("utf8") };
    } catch (thrown) {
      program.signal("SIGKILL");
      throw thrown;
    }
  } finally {
    clearTimeout(timer);
    output.destroy();
  }
}

/** Its descriptors are closed here, whether it started or not. */
function start(options: Parameters<typeof spawn>[0]): ReturnType<typeof spawn> {
  try {
    return spawn(options);
  } finally {
    for (const fd of new Set(options.fds)) closeSync(fd);
  }
}
