import type { Connection } from "ssh2";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { limitWindows } from "../../core/ssh/limit-windows.ts";
import { guardRefusals } from "../../core/ssh/refusals.ts";
import { watchTraffic } from "../../core/ssh/watch-traffic.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import type { ClientDeps } from "./client-deps.ts";
import type { SessionGrant } from "./serve-user.ts";
import type { Slots } from "./user-limits.ts";

/** Fields of every event of a connection. */
type ClientFields = Omit<Extract<AuditFacts, { readonly event: "client.disconnect" }>, "event" | "reason">;

export interface ClientFacts {
  readonly connection: Connection;
  readonly grant: SessionGrant;
  readonly lease?: ConnectionLease | undefined;
  readonly deps: ClientDeps;
  /** Fields of the event when this host ends the connection. */
  readonly who: ClientFields;
  /** Whether a channel, by the peer's number, is a terminal: it is idle without input. */
  readonly isTerminal: (channel: number) => boolean;
  /** Shows the user in each session why this host ends the connection. */
  readonly onCut: (why: PlatformError) => void;
  /** The connection is closed: ends its sessions. */
  readonly onClose: () => void;
}

/** A client that is held to the limits on what it can make this host hold and record, and to its rules. */
export interface HeldClient {
  /** Adds work that the end of the connection waits for. */
  readonly track: (work: Promise<void>) => void;
  /** Ends the connection, at most once, for this reason. */
  readonly cut: (why: PlatformError) => void;
  /** Connections that it may forward. */
  readonly forwards: Slots;
  /** Resolves when the connection is closed and all tracked work has ended. */
  readonly ended: Promise<void>;
}

/** Limits the client of a logged in user, and ends its connection when a rule, a lock or a limit says so, at most once. */
export function holdClient(client: ClientFacts): HeldClient {
  const { connection, grant, lease, deps, who } = client;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const running = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    running.add(work);
    void Promise.allSettled([work]).then(() => running.delete(work));
  };
  const record = (why: Pick<Error, "message">): void => {
    deps.log.info("ended a connection", { session: who.sid, user: who.user, error: why.message });
    track(recordOrLog(deps, { event: "client.disconnect", ...who, reason: why.message }));
  };
  let isCut = false;
  const cut = (why: PlatformError): void => {
    if (isCut) return;
    isCut = true;
    record(why);
    client.onCut(why);
    connection.end();
  };
  const limits = deps.limits.ofConnection(grant.identity.name);
  limitWindows(connection, limits.windows);
  guardRefusals(connection, cut);
  lease?.onLost(cut);
  // The client broke the protocol: its stream is already closed.
  connection.on("error", (error: Error & { readonly level?: string }) => {
    if (error.level !== "client-socket" && error.level !== "client-timeout") record(error);
  });
  const now = deps.now ?? (() => new Date());
  const release = holdToRules({ grant, access: deps.access, now, onActivity: watchActivity(connection, client.isTerminal), end: cut });
  connection.once("close", () => {
    release();
    client.onClose();
    limits.end();
    void Promise.allSettled(running).then(() => resolve());
  });
  return { track, cut, forwards: limits.forwards, ended };
}

/** A terminal is idle without input, any other channel when no bytes pass in either direction. `isTerminal` takes the peer's channel number. */
function watchActivity(connection: Connection, isTerminal: (channel: number) => boolean): (touch: () => void) => void {
  return (touch) =>
    watchTraffic(connection, {
      onIn: touch,
      onOut: (channel) => {
        if (!isTerminal(channel)) touch();
      },
    });
}
