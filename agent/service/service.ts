import type { Duplex } from "node:stream";
import type { ServiceKind } from "../../core/kinds/service-kinds.ts";
import type { StreamKind } from "../../core/kinds/stream-kinds.ts";
import type { Offered } from "../../core/resources/offered.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { ServiceDeps } from "./deps.ts";

export interface StreamLife {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called once its user has logged in: a stream whose user has not gives way to others when this host serves as many as it may. */
  readonly established: () => void;
}

/** Serves a stream: writes the StreamReply, then the kind's bytes, until its end. Throws PlatformError only before its reply. */
export type Serve<Kind extends StreamKind = StreamKind> = (stream: Duplex, request: StreamRequest<Kind>, life: StreamLife) => Promise<void>;
/** By kind of stream. */
export type Services = { readonly [Kind in StreamKind]?: Serve<Kind> };

/** Resources that a service offers, as they are now. */
export interface OfferedSource {
  current(): readonly Offered[];
  onChange(listener: () => void): void;
}

export interface OpenedService {
  readonly serve: Services;
  /** Left out: the host itself is what it offers. */
  readonly offered?: OfferedSource;
}

/** A service that this host can run, as far as that is known before the host has joined. */
export interface Service {
  /** In the host's status and inventory too. */
  readonly name: ServiceKind;
  /** Called once, when the host has joined; `signal` ends what goes on in the background. */
  open(deps: ServiceDeps, signal: AbortSignal): Promise<OpenedService>;
}
