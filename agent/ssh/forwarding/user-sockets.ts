import { spawn } from "node:child_process";
import { Server, Socket } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createQueue } from "../../../core/limits/queue.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { SocketAnswer, SocketOrder, SocketTask } from "./socket-entry.ts";
import { systemText } from "./tcp-sockets.ts";

/** The user whose file permissions count, and how to start this program again. */
export interface AsUser {
  readonly user: UnixUser;
  readonly launch: readonly [string, ...string[]];
}

export interface UserListener {
  readonly server: Server;
  readonly path: string;
}

/** Timeout of one task from the start of its process, ms. */
const taskMs = 10_000;
/** Maximum concurrent processes: each is a runtime of its own. */
const queue = createQueue({ atOnce: 4, waiting: 128 });
/** Longest path of a Unix socket (sockaddr_un), bytes. */
const longestPath = 107;

/** Connects to a Unix socket as the user would. Throws PlatformError with the message of strerror(3). */
export async function connectAsUser(asUser: AsUser, path: string): Promise<Socket> {
  const { handle } = await perform(asUser, { do: "connect", path: checkedPath(path) });
  if (!(handle instanceof Socket)) throw new Error("the helper process returned no socket");
  // A handle from another process has lost this.
  handle.allowHalfOpen = true;
  return handle;
}

/** A Unix socket that belongs to the user. Its file stays when the server is closed: see `removeAsUser`. */
export async function listenAsUser(asUser: AsUser, path: string): Promise<UserListener> {
  return listenerOf(await perform(asUser, { do: "listen", path: checkedPath(path) }));
}

/** The same in a new folder that only the user may enter. */
export async function listenInPrivate(asUser: AsUser): Promise<UserListener> {
  return listenerOf(await perform(asUser, { do: "listen in private" }));
}

export async function removeAsUser(asUser: AsUser, { path, folder }: { readonly path: string; readonly folder: boolean }): Promise<void> {
  await perform(asUser, { do: "remove", path, folder });
}

interface Performed {
  readonly path: string;
  readonly handle: unknown;
}

function listenerOf({ path, handle }: Performed): UserListener {
  if (!(handle instanceof Server)) throw new Error("the helper process returned no listener");
  return { server: handle, path };
}

function checkedPath(path: string): string {
  if (!path.startsWith("/")) throw new PlatformError("invalid", "socket path must start with /");
  if (path.includes("\0")) throw new PlatformError("invalid", "socket path contains a NUL byte");
  if (Buffer.byteLength(path) > longestPath) throw new PlatformError("invalid", "File name too long");
  return path;
}

function perform({ user, launch }: AsUser, task: SocketTask): Promise<Performed> {
  const { login, uid, gid } = user;
  const order: SocketOrder = { user: { login, uid, gid }, becomeUser: process.geteuid?.() === 0, task };
  return queue(() => ask(launch, order));
}

function ask([command, ...args]: AsUser["launch"], order: SocketOrder): Promise<Performed> {
  return new Promise((resolve, reject) => {
    const stdio = ["ignore", "ignore", "ignore", "ipc"] as const;
    const child = spawn(command, [...args, "__socket"], { stdio: [...stdio], detached: true, env: {}, cwd: "/" });
    const timer = setTimeout(() => child.kill("SIGKILL"), taskMs);
    child.once("error", (cause) => reject(new PlatformError("unavailable", "could not start the helper process", { cause })));
    child.once("message", (message, handle) => {
      // Its copy of a listener would take connections.
      child.kill("SIGKILL");
      const answer = message as SocketAnswer;
      if (answer.ok) resolve({ path: answer.path, handle });
      else reject(new PlatformError("unavailable", systemText(answer), { cause: answer.message }));
    });
    child.once("exit", () => clearTimeout(timer));
    // Arrives after all messages, which the process's exit may overtake.
    child.once("disconnect", () => reject(new PlatformError("unavailable", "the helper process for a Unix socket ended early")));
    child.send(order, (error) => {
      if (error !== null) child.kill("SIGKILL");
    });
  });
}
