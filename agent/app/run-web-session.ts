import type { TLSSocket } from "node:tls";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { serveHttp } from "../http/serve-http.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import type { AppDeps } from "./app-deps.ts";
import { Assertion } from "./http/assertion.ts";
import { dumperRoad } from "./http/dumper-road.ts";
import type { HttpSession } from "./http/http-session.ts";
import { Upstream } from "./http/upstream.ts";
import { upstreamRoad } from "./http/upstream-road.ts";
import { webHandlers } from "./http/web-handlers.ts";
import type { OfferedApp } from "./offered-app.ts";

export interface WebSession {
  readonly tls: TLSSocket;
  /** DER. */
  readonly certificate: Buffer;
  readonly grant: ServedGrant<"app">;
  /** The agent's decision under other rules. Throws `denied`. */
  readonly judge: (access: Access) => unknown;
  readonly sid: string;
  readonly app: OfferedApp;
  readonly lease: ConnectionLease | undefined;
  readonly clientAddress: string;
  /** Of the cluster. */
  readonly recordingMode: RecordingMode;
}

/** Serves a user's requests to a web application until the connection ends, or a rule, a lock or another role ends it. Throws before the first byte only. */
export async function runWebSession(session: WebSession, deps: AppDeps, signal: AbortSignal): Promise<void> {
  const { tls, app, sid, grant, clientAddress, lease } = session;
  const { scheme } = app.address;
  if (scheme === "tcp") throw new Error("the application speaks raw TCP");
  const over = new AbortController();
  let reason: PlatformError | undefined;
  const cut = (why: PlatformError): void => {
    reason ??= why;
    over.abort();
  };
  const ended = AbortSignal.any([signal, over.signal]);
  const road = app.isDumper ? dumperRoad() : upstreamRoad(app, deps.targets, ended);
  await road.prepare();
  const upstream = new Upstream({ road, scheme, keepsConnections: !app.isDumper });
  try {
    const { name: user, relayed } = grant.identity;
    const entering = { user, certified: grant.identity, relayedBy: relayed?.by, mode: session.recordingMode };
    const visit = await deps.sessions.enter({ sid, app, clientAddress, ...entering, isStrict: grant.rules.strictRecording }, cut);
    const held = follow(session, { cut, deps, ended });
    lease?.onLost(cut);
    const end = (): void => void tls.destroy();
    if (ended.aborted) end();
    else ended.addEventListener("abort", end, { once: true });
    tls.write(encodeStreamReply({ ok: true }));
    await serveHttp(tls, webHandlers({ ...httpSession(session, deps), upstream, visit, touch: held.touch, signal: ended }));
    held.stop();
    visit.leave({ received: tls.bytesRead, transmitted: tls.bytesWritten, reason });
  } finally {
    over.abort();
    upstream.close();
  }
  deps.log.info("app session ended", { session: sid, user: grant.identity.name, app: app.name, ...(reason && { reason: reason.message }) });
}

interface Following {
  readonly cut: (why: PlatformError) => void;
  readonly deps: AppDeps;
  readonly ended: AbortSignal;
}

/** Holds the connection to the rules, the locks and the roles, as they change. */
function follow({ grant, judge }: WebSession, { cut, deps, ended }: Following): { readonly touch: () => void; readonly stop: () => void } {
  let touch: () => void = () => {};
  const onActivity = (touched: () => void): void => {
    touch = touched;
  };
  const stop = holdToRules({ grant, access: deps.access, now: deps.now ?? (() => new Date()), onActivity, end: cut });
  deps.access.follow((access) => {
    try {
      judge(access);
    } catch (thrown) {
      const error = toPlatformError(thrown);
      if (error.code === "denied") cut(error);
    }
  }, ended);
  return { touch: () => touch(), stop };
}

/** The parts of a session that its requests share. */
function httpSession(
  { app, grant, certificate, clientAddress }: WebSession,
  deps: AppDeps,
): Omit<HttpSession, "upstream" | "visit" | "touch" | "signal"> {
  const facts = { app: app.name, uri: app.uri, userCertificate: certificate, clientAddress, claims: app.rewrite.jwtClaims };
  const assertion = new Assertion(async () => await deps.signToken(facts), deps.now ?? (() => new Date()));
  return { app, traits: grant.identity.traits, clientIp: ipOf(clientAddress), server: deps.node.name, assertion, log: deps.log };
}
