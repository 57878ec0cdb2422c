import { mkdtempSync, rmdirSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { becomeUser } from "../program/become-user.ts";

/** A task that must be done as the user, because file permissions count: the IPC message to `platform __socket`. */
export interface SocketOrder {
  readonly user: { readonly login: string; readonly uid: number; readonly gid: number };
  /** The process starts as root and must become the user. */
  readonly becomeUser: boolean;
  readonly task: SocketTask;
}

export type SocketTask =
  | { readonly do: "connect"; readonly path: string }
  | { readonly do: "listen"; readonly path: string }
  /** Listens in a new folder of its own that only the user may enter. */
  | { readonly do: "listen in private" }
  /** Removes a socket, and its folder if that was created for it. */
  | { readonly do: "remove"; readonly path: string; readonly folder: boolean };

/** The answer; a connected or a listening socket comes with it. */
export type SocketAnswer =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly code: string | undefined; readonly errno: number | undefined; readonly message: string };

/** The folder's name is sshd's: programs search for it. */
const privateFolder = "/tmp/ssh-";

/**
 * Internal command `platform __socket`: becomes the user, creates the one requested socket and hands it over. Its
 * parent ends it, also on a timeout.
 */
export async function runSocket(): Promise<number> {
  const order = await new Promise<SocketOrder>((resolve) => process.once("message", (message) => resolve(message as SocketOrder)));
  try {
    if (order.becomeUser) becomeUser(order.user);
    const { path, handle } = await perform(order.task);
    return await answer({ ok: true, path }, handle);
  } catch (thrown) {
    const { code, errno, message } = thrown as NodeJS.ErrnoException;
    return await answer({ ok: false, code, errno, message });
  }
}

async function perform(task: SocketTask): Promise<{ path: string; handle?: Server | Socket }> {
  switch (task.do) {
    case "connect":
      return { path: task.path, handle: await connected(task.path) };
    case "listen":
      return { path: task.path, handle: await listening(task.path) };
    case "listen in private": {
      const folder = mkdtempSync(privateFolder);
      const path = `${folder}/agent.${process.pid}`;
      return { path, handle: await listening(path) };
    }
    case "remove":
      unlinkSync(task.path);
      if (task.folder) rmdirSync(task.path.slice(0, task.path.lastIndexOf("/")));
      return { path: task.path };
  }
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.pause();
    socket.once("error", reject).once("connect", () => resolve(socket));
  });
}

function listening(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    // As with sshd's StreamLocalBindMask and its agent's socket.
    process.umask(0o177);
    server.once("error", reject).listen(path, () => resolve(server));
  });
}

/**
 * The parent ends this process once it has the answer: an orderly end would remove the socket's file. It never comes back to
 * accept connections in between, for the parent does not publish the socket before.
 */
function answer(message: SocketAnswer, handle?: Server | Socket): Promise<number> {
  return new Promise((resolve) => {
    process.once("disconnect", () => resolve(0));
    process.send?.(message, handle, {}, (error) => {
      if (error !== null) resolve(1);
    });
  });
}
