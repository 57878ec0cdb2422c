import { mkdtempSync, rmdirSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { becomeUser } from "../program/become-user.ts";
import type { SocketAnswer, SocketOrder, SocketTask } from "./socket-order.ts";

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
