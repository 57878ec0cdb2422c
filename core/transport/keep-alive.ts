import type { Agent } from "node:http";
import { Socket } from "node:net";

/**
 * Probes of the kernel on a quiet connection, by which it finds a peer that has vanished: after 30 s of silence six, 5 s apart. With Node's own, ten within
 * 10 s, an outage of 10 s would cut healthy ones. Sockets of other kinds are left alone. Returns the socket.
 */
export function keepAlive(socket: Socket): Socket {
  return socket.setKeepAlive(true, 30_000, 5_000, 6);
}

/**
 * An HTTP agent whose connections keep these probes between requests: Node replaces them with its own at the end of each, and each change is four calls of the
 * kernel. Returns the agent.
 */
export function keepAliveIn(agent: Agent): Agent {
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    if (socket instanceof Socket && !Object.hasOwn(socket, "setKeepAlive")) keepAlive(socket).setKeepAlive = () => socket;
    return keep(socket);
  };
  return agent;
}
