import type { Socket } from "node:net";
import type { Channel, Connection } from "ssh2";
import { couple } from "../../../core/ssh/couple.ts";
import type { Slots } from "../../ssh-server/user-limits.ts";
import type { UserConnection } from "../user-connection.ts";
import type { PortReport } from "./port-report.ts";
import type { TcpSockets } from "./tcp-sockets.ts";

/** State shared by all forwarding of one connection. */
export interface Forwarding {
  readonly connection: Connection;
  readonly facts: UserConnection;
  /** TCP sockets on behalf of the Unix user. */
  readonly sockets: TcpSockets;
  /** Slots of the connections that it forwards. */
  readonly slots: Slots;
  readonly report: PortReport;
  /** Aborted when the connection has ended. */
  readonly gone: AbortSignal;
}

export type OpenChannel = (done: (error: Error | undefined, channel: Channel) => void) => void;

/** Timeout for the client's answer, ms. */
const answerMs = 30_000;

/** Passes an incoming connection to the client in a channel that we open. Never throws; the socket is closed at the end. */
export async function handOver({ slots, gone }: Pick<Forwarding, "slots" | "gone">, socket: Socket, open: OpenChannel): Promise<void> {
  socket.on("error", () => {}).pause();
  const release = slots.take();
  if (release === undefined || gone.aborted) {
    release?.();
    return void socket.destroy();
  }
  // A peer that gives up before the answer still uses the socket's slot.
  const timer = setTimeout(() => socket.destroy(), answerMs);
  try {
    const channel = await new Promise<Channel>((resolve, reject) => open((error, opened) => (error === undefined ? resolve(opened) : reject(error))));
    clearTimeout(timer);
    await couple(channel, socket, gone);
  } catch {
    // The client refused, or has disconnected.
    socket.destroy();
  } finally {
    clearTimeout(timer);
    release();
  }
}

export const noForwarding = "a role forbids port forwarding (port_forwarding: false)";
