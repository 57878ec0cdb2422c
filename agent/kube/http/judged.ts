import type { HeaderField } from "../../../core/resources/app-headers.ts";
import type { WholeResponse } from "../../http/exchange.ts";
import type { PartialDeletion } from "../collection/delete-collection.ts";
import type { KubeIdentity } from "./sent-headers.ts";

/** The facts of a client's request that the judge needs. */
export interface AskedOfJudge {
  readonly method: string;
  /** Path and query as the client wrote them, without our prefix. */
  readonly target: string;
  readonly headers: readonly HeaderField[];
  /** The client wants to change the protocol of the connection. */
  readonly isUpgrade: boolean;
  /** Reads all of the body, for a creation whose name is in it. Throws PlatformError for one that is too large. */
  readonly body: () => Promise<Buffer>;
}

/** What a request does, for the audit log. */
export interface RequestFacts {
  readonly verb?: string | undefined;
  readonly group?: string | undefined;
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** A program in a container, or a port of a pod, that a request is for. */
export interface StreamTarget {
  readonly kind: "exec" | "attach" | "portforward";
  readonly namespace: string;
  readonly pod: string;
}

/** A request that was allowed. */
export interface Judged {
  readonly facts: RequestFacts;
  readonly identity: KubeIdentity;
  /** Whether it goes on to a pod, a service or a node. */
  readonly isProxied: boolean;
  readonly isWatch: boolean;
  /** Whether its answer goes on until somebody ends it: a watch, or a log that is followed. */
  readonly isOngoing: boolean;
  /** Versions, discovery and health, which are not in the audit log. */
  readonly isOpen: boolean;
  readonly stream?: StreamTarget | undefined;
  /** What of the answer may be shown; undefined: all of it. */
  readonly filter?: { readonly many: "list" | "watch"; readonly shows: (namespace: string, name: string) => boolean } | undefined;
  /** Objects that would be deleted together, of which only some may be: this agent deletes them one by one. */
  readonly deletion?: PartialDeletion | undefined;
  /** For the client. */
  readonly warning?: string | undefined;
  /** The agent's own answer, where the roles alone decide it. */
  readonly answer?: WholeResponse | undefined;
  /** Decides again by the current access. Throws `denied`. */
  readonly again: () => void;
}
