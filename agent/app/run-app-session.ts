import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { confirmedBy, recordedUser } from "../../core/audit/recorded-user.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { connectionError } from "../../core/transport/dial/connection-error.ts";
import { relay } from "../../core/transport/relay.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import type { AppDeps } from "./app-deps.ts";
import type { OfferedApp } from "./offered-app.ts";

export interface AppSession {
  readonly tls: TLSSocket;
  readonly upstream: Socket;
  readonly grant: ServedGrant<"app">;
  readonly sid: string;
  readonly app: OfferedApp;
  /** Target port, of an application that has several. */
  readonly port: number | undefined;
  readonly lease: ConnectionLease | undefined;
  readonly clientAddress: string;
}

/** Copies bytes between a user and an application until one of them ends it, or a rule or a lock does. Throws before the first byte only. */
export async function runAppSession(session: AppSession, deps: AppDeps, signal: AbortSignal): Promise<void> {
  const { tls, upstream, grant, lease } = session;
  const facts = sessionFacts(session, deps);
  const started = (deps.now ?? (() => new Date()))();
  try {
    // A session that cannot be recorded does not begin.
    await deps.audit.record({ event: "app.session.start", ...facts, ...recordedUser(grant.identity), ...confirmedBy(grant.identity) });
  } catch (thrown) {
    upstream.destroy();
    throw thrown;
  }
  const over = new AbortController();
  let reason: PlatformError | undefined;
  const cut = (why: PlatformError): void => {
    reason ??= why;
    over.abort();
  };
  const onActivity = (touch: () => void): void => {
    for (const stream of [tls, upstream]) stream.on("data", touch);
  };
  const release = holdToRules({ grant, access: deps.access, now: deps.now ?? (() => new Date()), onActivity, end: cut });
  lease?.onLost(cut);
  tls.write(encodeStreamReply({ ok: true }));
  await relay(tls, upstream, { signal: AbortSignal.any([signal, over.signal]) });
  release();
  reason ??= lossOf(upstream, session.app.name);
  deps.log.info("app session ended", {
    session: session.sid,
    user: grant.identity.name,
    app: session.app.name,
    ...(reason && { reason: reason.message }),
  });
  const counts = { bytes_transmitted: upstream.bytesRead, bytes_received: upstream.bytesWritten };
  const end = { session_start: started.toISOString(), ...counts, ...(reason && { reason: reason.message.slice(0, 2000) }) };
  await recordOrLog(deps, { event: "app.session.end", ...facts, ...end });
}

/** Why the connection to the application failed, as when its host vanishes; undefined if it was ended, by whichever side. */
export function lossOf({ errored }: Pick<Socket, "errored">, app: string): PlatformError | undefined {
  return errored === null ? undefined : connectionError(errored, { message: `the connection to application ${app} was lost`, hint: "" });
}

function sessionFacts({ grant, sid, app, port, clientAddress }: AppSession, deps: AppDeps) {
  return {
    server_id: grant.ask.serverId,
    server_name: deps.node.name,
    user: grant.identity.name,
    sid,
    app_name: app.name,
    app_uri: app.uri,
    ...(port !== undefined && { app_target_port: port }),
    ...(grant.identity.relayed && { relayed_by: grant.identity.relayed.by }),
    ...(clientAddress !== "" && { "addr.remote": clientAddress }),
  };
}
