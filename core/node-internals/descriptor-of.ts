import type { Server, Socket } from "node:net";

/** The file descriptor of a listening server or of a connection, also below TLS; undefined without one. Node does not expose it; its handle does (Node 24.21, net.js). */
export function descriptorOf(of: Server | Socket): number | undefined {
  const handle: unknown = Reflect.get(of, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  return typeof fd === "number" && fd >= 0 ? fd : undefined;
}
