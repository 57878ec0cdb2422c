import type { Connection } from "ssh2";
import type { Slots } from "../../service/slots.ts";
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

export const noForwarding = "a role forbids port forwarding (port_forwarding: false)";
