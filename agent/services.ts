import type { Duplex } from "node:stream";
import type { StreamKind, StreamRequest } from "../core/transport/stream-request.ts";
import type { SshDeps } from "./ssh/deps.ts";

/** Serves a stream: writes the StreamReply, then the kind's bytes, until its end. Throws PlatformError only before its reply. */
export type Serve = (stream: Duplex, request: StreamRequest, signal: AbortSignal) => Promise<void>;
/** What this agent serves, by kind of stream. */
export type Services = Readonly<Partial<Record<StreamKind, Serve>>>;

export function agentServices(deps: { readonly ssh: SshDeps }): Services {
  return {
    ssh: async (stream, request, signal) => {
      const { serveSsh } = await import("./ssh/serve.ts");
      await serveSsh(stream, request, deps.ssh, signal);
    },
    join: async (stream, request, signal) => {
      const { serveJoin } = await import("./ssh/join/serve-join.ts");
      await serveJoin(stream, request, deps.ssh, signal);
    },
  };
}
