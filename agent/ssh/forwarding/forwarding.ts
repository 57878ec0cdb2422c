import type { Connection } from "ssh2";
import type { Slots } from "../../service/slots.ts";
import type { UserConnection } from "../user-connection.ts";
import type { PortReport } from "./port-report.ts";
import type { TcpSockets } from "./tcp-sockets.ts";

/** What all forwarding of one connection shares. */
export interface Forwarding {
  readonly connection: Connection;
  readonly facts: UserConnection;
  /** In the name of the Unix user. */
  readonly sockets: TcpSockets;
  /** Of the connections that it forwards. */
  readonly slots: Slots;
  readonly report: PortReport;
  /** The connection has ended. */
  readonly gone: AbortSignal;
}

export const noForwarding = "a role forbids port forwarding (port_forwarding: false)";
