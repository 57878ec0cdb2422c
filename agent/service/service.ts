import type { Duplex } from "node:stream";
import type { ServiceKind } from "../../core/kinds/service-kinds.ts";
import type { StreamKind } from "../../core/kinds/stream-kinds.ts";
import type { Offered } from "../../core/resources/offered.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { ServiceDeps } from "./deps.ts";

export interface StreamLife {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called once its user has logged in: when this host is at its limit, streams without a logged-in user are dropped for others. */
  readonly established: () => void;
}

/** Serves a stream: writes the StreamReply, then the kind's bytes, until its end. Throws PlatformError only before its reply. */
export type Serve<Kind extends StreamKind = StreamKind> = (stream: Duplex, request: StreamRequest<Kind>, life: StreamLife) => Promise<void>;
/** By kind of stream. */
export type Services = { readonly [Kind in StreamKind]?: Serve<Kind> };

/** Resources that a service currently offers. */
export interface OfferedSource {
  current(): readonly Offered[];
  onChange(listener: () => void): void;
}

export interface OpenedService {
  readonly serve: Services;
  /** Omitted when the service offers the host itself. */
  readonly offered?: OfferedSource;
}

/** A service that this host can run, as far as known before the host has joined. */
export interface Service {
  /** Also shown in the host's status and inventory. */
  readonly name: ServiceKind;
  /** Called once, when the host has joined; `signal` ends its background work. */
  open(deps: ServiceDeps, signal: AbortSignal): Promise<OpenedService>;
}
