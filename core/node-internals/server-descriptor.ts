import type { Server } from "node:net";

/** The file descriptor of a listening server, for the process that takes it over. Node does not expose it; its handle does (Node 24.21, net.js). */
export function serverDescriptor(server: Server): number {
  const handle: unknown = Reflect.get(server, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  if (typeof fd !== "number" || fd < 0) throw new Error("a listening server has no file descriptor");
  return fd;
}
