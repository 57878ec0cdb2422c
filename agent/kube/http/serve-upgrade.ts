import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { type ClientRequest, fieldOf } from "../../http/exchange.ts";
import { clientRequest } from "../../http/http1-request.ts";
import { encodeHead, refuseRaw } from "../../http/raw-response.ts";
import type { UpgradeAnswer } from "../../http/upstream-http1.ts";
import type { KubeSession } from "../kube-session.ts";
import { PortSession } from "../sessions/port-session.ts";
import { type Program, ProgramSession } from "../sessions/program-session.ts";
import { ChannelProgramTap } from "../streams/channel-program-tap.ts";
import { PortTap } from "../streams/port-tap.ts";
import { relayTapped } from "../streams/relay-tapped.ts";
import { SpdyProgramTap } from "../streams/spdy-program-tap.ts";
import type { StreamTap } from "../streams/stream-tap.ts";
import { judgeAgreed, judgeFiltered, judgeUpgrade, type StreamProtocol } from "./judge-upgrade.ts";
import type { Judged } from "./judged.ts";
import { passRefusal } from "./pass-refusal.ts";
import { programQuery } from "./program-query.ts";
import { goneStatus, RequestNote } from "./request-note.ts";
import { answeredHeaders } from "./sent-headers.ts";
import { logRefusal, requestFor } from "./serve-request.ts";
import { statusResponse } from "./status-response.ts";
import { stripPrefix } from "./strip-prefix.ts";
import { unreachedError } from "./unreached-error.ts";

/** A request for another protocol that may go on. */
interface Wanted {
  readonly asked: ClientRequest;
  readonly judged: Judged;
  readonly target: string;
  readonly protocol: StreamProtocol;
  /** Undefined for anything but a program and ports of a pod. */
  readonly program: Program | undefined;
}

interface UpgradeLife {
  readonly socket: Duplex;
  readonly session: KubeSession;
  readonly note: RequestNote;
  /** Aborted with the reason when the platform ends it. */
  readonly over: AbortController;
  /** The same, or the client has left. */
  readonly signal: AbortSignal;
}

/**
 * Serves a request for another protocol. It begins only when the API server has agreed with 101 (CVE-2018-1002105): anything else is the last response
 * of both connections, and no byte after it goes on. Never throws.
 */
export async function serveUpgrade(request: IncomingMessage, socket: Duplex, session: KubeSession): Promise<void> {
  session.touch();
  const asked = clientRequest(request);
  const note = new RequestNote(asked, session);
  const gone = new AbortController();
  const leave = (): void => gone.abort(new PlatformError("unavailable", "the client left before the program began"));
  socket.on("error", leave).once("close", leave);
  const over = new AbortController();
  const stops: (() => void)[] = [];
  try {
    stops.push(session.requests.take(session.user.name, "streams"));
    const protocol = judgeUpgrade(asked);
    const { target } = stripPrefix(asked.target, session.names);
    note.target(target);
    const judged = await session.judge({ method: asked.method, target, headers: asked.headers, isUpgrade: true, body: async () => Buffer.alloc(0) });
    note.judged(judged);
    judgeFiltered(judged);
    stops.push(session.running.add({ judged, end: (why) => over.abort(why) }));
    const program = judged.stream && { judged, stream: judged.stream, query: programQuery(target) };
    const signal = AbortSignal.any([gone.signal, over.signal]);
    await note.admit(signal, 2);
    await serveWanted({ asked, judged, target, protocol, program }, { socket, session, note, over, signal });
  } catch (thrown) {
    if (gone.signal.aborted) return note.end(goneStatus);
    const error = toPlatformError(over.signal.aborted ? over.signal.reason : thrown);
    const whole = statusResponse(error);
    note.end(whole.head.status, error);
    if (!note.isCrowdedOut) logRefusal(error, session);
    refuseRaw(socket, whole);
  } finally {
    for (const stop of stops) stop();
  }
}

async function serveWanted(wanted: Wanted, life: UpgradeLife): Promise<void> {
  const { session, over } = life;
  const { program } = wanted;
  if (program === undefined || program.stream.kind === "portforward") {
    const ports = program === undefined ? undefined : new PortSession(program, session);
    await passUpgrade(wanted, life, { agreed: async (chosen) => (ports === undefined ? blindTap : portTap(wanted.protocol, chosen, ports)) });
    return;
  }
  // Over a WebSocket the program starts with the request, over SPDY with the client's streams after the answer.
  const startsWithRequest = wanted.protocol === "websocket";
  const end = (why: PlatformError): void => over.abort(why);
  const prepare = async (): Promise<ProgramSession> => await ProgramSession.prepare(program, session, { startsWithRequest, end });
  let running: ProgramSession | undefined;
  let mayHaveRun = false;
  const agreed = async (chosen: string | undefined): Promise<StreamTap> => {
    running ??= await prepare();
    // Meanwhile the client may have left, or its access may have ended: a program that has not begun does not begin then.
    if (!mayHaveRun) life.signal.throwIfAborted();
    const events = await running.run();
    life.signal.throwIfAborted();
    const { hasInput } = program.query;
    const tap = wanted.protocol === "spdy" ? new SpdyProgramTap(events, hasInput) : new ChannelProgramTap(chosen, events, hasInput);
    running.share(tap.inserts);
    return tap;
  };
  let reason: PlatformError | undefined;
  try {
    if (startsWithRequest) {
      running = await prepare();
      await life.note.announce();
      mayHaveRun = true;
    }
    reason = await passUpgrade(wanted, life, { agreed, refused: () => (mayHaveRun = false) });
  } catch (thrown) {
    reason = toPlatformError(life.signal.aborted ? life.signal.reason : thrown);
    throw thrown;
  } finally {
    await running?.close({ ...life.note.bytes, reason, mayHaveRun });
  }
}

/** Carries what nothing here reads: a WebSocket to a pod, or a watch over one. */
const blindTap: StreamTap = { fromClient: () => undefined, fromServer: () => undefined, farewell: () => undefined, close: () => {} };

function portTap(protocol: StreamProtocol, chosen: string | undefined, { events }: PortSession): StreamTap {
  if (protocol === "spdy") return new PortTap(false, events);
  return chosen?.toLowerCase() === "spdy/3.1+portforward.k8s.io" ? new PortTap(true, events) : blindTap;
}

/** What the API server's answer is to the stream. */
interface Answered {
  /** `chosen`: the sub-protocol of a WebSocket. Before the client has the answer. */
  readonly agreed: (chosen: string | undefined) => Promise<StreamTap>;
  /** Nothing has begun. */
  readonly refused?: () => void;
}

/** Asks the API server, and passes on what it answers. Resolves with the reason of the platform's end. Throws before the first byte to the client only. */
async function passUpgrade(wanted: Wanted, life: UpgradeLife, { agreed, refused }: Answered): Promise<PlatformError | undefined> {
  const { session, socket, note } = life;
  const answer = await upgradeUpstream(wanted, life);
  if (!("upgraded" in answer)) {
    // Any other status may be that of a gateway which has passed the request on.
    if (answer.status >= 400 && answer.status < 500) refused?.();
    return await passRefusal(answer, life.socket, { signal: life.signal, onStatus: (...end) => note.end(...end) });
  }
  const { upgraded, head } = answer;
  let tap: StreamTap;
  try {
    judgeAgreed(head.headers, wanted.protocol);
    tap = await agreed(fieldOf(head.headers, "sec-websocket-protocol")?.trim());
    life.over.signal.throwIfAborted();
    const protocol = wanted.protocol === "spdy" ? "SPDY/3.1" : "websocket";
    socket.write(
      encodeHead({ status: 101, message: "", headers: [["Connection", "Upgrade"], ["Upgrade", protocol], ...answeredHeaders(head.headers)] }),
    );
  } catch (thrown) {
    upgraded.destroy();
    throw thrown;
  }
  await note.begin(101);
  const reason = await relayTapped({
    client: socket,
    upstream: upgraded,
    tap,
    signal: life.over.signal,
    onBytes: (side, bytes) => {
      note.bytes[side === "client" ? "received" : "transmitted"] += bytes;
      session.touch();
    },
  });
  note.end(101, reason);
  if (reason !== undefined) logRefusal(reason, session);
  return reason;
}

async function upgradeUpstream(wanted: Wanted, life: UpgradeLife): Promise<UpgradeAnswer> {
  const { cluster, deps } = life.session;
  const sent = requestFor(wanted, { ...life, onInform: () => {} });
  try {
    return await cluster.api.upgrade(sent, wanted.protocol === "spdy" ? "SPDY/3.1" : "websocket");
  } catch (thrown) {
    if (!life.signal.aborted) deps.onUnreached?.(cluster.name);
    throw unreachedError(cluster.name, thrown);
  }
}
