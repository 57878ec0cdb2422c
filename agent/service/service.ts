import type { Duplex } from "node:stream";
import type { StreamKind, StreamRequest } from "../../core/transport/stream-request.ts";
import type { ServiceDeps } from "./deps.ts";

export interface StreamLife {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called once its user has logged in: a stream whose user has not gives way to others when this host serves as many as it may. */
  readonly established: () => void;
}

/** Serves a stream: writes the StreamReply, then the kind's bytes, until its end. Throws PlatformError only before its reply. */
export type Serve = (stream: Duplex, request: StreamRequest, life: StreamLife) => Promise<void>;
/** By kind of stream. */
export type Services = Readonly<Partial<Record<StreamKind, Serve>>>;

/** A service that this host can run, as far as that is known before the host has joined. */
export interface Service {
  /** Its name in the host's status and inventory. */
  readonly name: "ssh";
  /** Called once, when the host has joined. */
  open(deps: ServiceDeps): Promise<Services>;
}
