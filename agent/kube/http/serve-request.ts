import { pipeline, type Readable, type Transform, type Writable } from "node:stream";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { setHighWaterMark } from "../../../core/node-internals/set-high-water-mark.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { copyBody } from "../../http/copy-body.ts";
import { type ClientAnswer, type ClientRequest, fieldOf, sendWhole, type UpstreamAnswer } from "../../http/exchange.ts";
import { passedTrailers } from "../../http/passed-fields.ts";
import { serveDeletion } from "../collection/serve-deletion.ts";
import { filterAnswer } from "../filter/filter-answer.ts";
import type { KubeSession } from "../kube-session.ts";
import { smallMark } from "../upstream/api-server.ts";
import { HeldBody } from "./held-body.ts";
import type { Judged } from "./judged.ts";
import { goneStatus, RequestNote } from "./request-note.ts";
import { answeredHeaders, sentHeaders } from "./sent-headers.ts";
import { statusOf, statusResponse } from "./status-response.ts";
import { stripPrefix } from "./strip-prefix.ts";
import { unreachedError } from "./unreached-error.ts";

/** Serves one request: to the API server and back, or a Status of this agent. Never throws. */
export async function serveRequest(asked: ClientRequest, answer: ClientAnswer, session: KubeSession): Promise<void> {
  session.touch();
  const note = new RequestNote(asked, session);
  const over = new AbortController();
  const stops: (() => void)[] = [];
  try {
    stops.push(session.requests.take(session.user.name, "requests"));
    const { target, prefix } = stripPrefix(asked.target, session.names);
    note.target(target);
    const holding = session.requests.holding(session.user.name);
    stops.push(() => holding[Symbol.dispose]());
    const held = new HeldBody(asked, { onContinue: () => answer.inform(100, []), onHeld: (bytes) => holding.add(bytes) });
    const judged = await session.judge({
      method: asked.method,
      target,
      headers: asked.headers,
      isUpgrade: false,
      body: async () => await held.read(),
    });
    note.judged(judged);
    if (judged.answer !== undefined) {
      note.end(judged.answer.head.status);
      sendWhole(answer, judged.answer);
      return;
    }
    if (judged.isOngoing) stops.push(session.requests.take(session.user.name, "watches and followed logs"));
    stops.push(session.running.add({ judged, end: (why) => over.abort(why) }));
    const signal = AbortSignal.any([answer.gone, over.signal]);
    await note.admit(signal, judged.isWatch ? 2 : 1);
    if (judged.deletion !== undefined) {
      const { deletion } = judged;
      stops.push(session.requests.take(session.user.name, "deletions of several objects"));
      const whole = await serveDeletion({ asked, judged, deletion, body: await held.read(), signal }, session);
      note.end(whole.head.status);
      sendWhole(answer, whole);
      return;
    }
    if (judged.filter !== undefined) stops.push(session.requests.take(session.user.name, "filtered requests"));
    if (session.cluster.api.prefersHttp1) stops.push(session.requests.take(session.user.name, "requests over HTTP/1.1"));
    const isOneOfMany = session.requests.hasMany(session.user.name, judged.isOngoing);
    const life = { session, note, signal, onInform: (...facts: Parameters<ClientAnswer["inform"]>) => answer.inform(...facts) };
    const response = await send({ asked: held.forwarded(), judged, target }, life, isOneOfMany);
    await pass(response, answer, { session, judged, note, prefix, isOneOfMany, over: over.signal });
  } catch (thrown) {
    if (answer.gone.aborted) return note.end(goneStatus);
    const error = over.signal.aborted ? toPlatformError(over.signal.reason) : toPlatformError(thrown);
    refuse(asked, answer, { error, note, session });
  } finally {
    for (const stop of stops) stop();
  }
}

interface Refused {
  readonly error: PlatformError;
  readonly note: RequestNote;
  readonly session: KubeSession;
}

function refuse(asked: ClientRequest, answer: ClientAnswer, { error, note, session }: Refused): void {
  const whole = statusResponse(error);
  note.end(whole.head.status, error);
  if (!note.isCrowdedOut) logRefusal(error, session);
  // Two readers could see different requests in what follows on it.
  if (error.code === "invalid") answer.close();
  // A later login counts on a new connection, with its own certificate.
  if (error.code === "unauthenticated") answer.retire();
  sendWhole(answer, asked.method === "HEAD" ? { ...whole, body: Buffer.alloc(0) } : whole);
}

/** Logs a refusal. Faults of the agent, and of its way to the API server, concern its operators, too. */
export function logRefusal(error: PlatformError, { deps, cluster, sid }: Pick<KubeSession, "deps" | "cluster" | "sid">): void {
  const facts = { session: sid, cluster: cluster.name, code: error.code, error: error.code === "internal" ? (error.cause ?? error) : error.message };
  if (error.code === "internal") deps.log.error("a request to a Kubernetes cluster failed", facts);
  else if (error.code === "unavailable" || error.code === "timeout") deps.log.info("a request to a Kubernetes cluster was not served", facts);
  else deps.log.debug("a request to a Kubernetes cluster was refused", facts);
}

export interface SentRequest {
  readonly asked: ClientRequest;
  readonly judged: Judged;
  readonly target: string;
}

export interface RequestLife {
  readonly session: KubeSession;
  readonly note: RequestNote;
  readonly signal: AbortSignal;
  readonly onInform: (status: number, headers: ClientRequest["headers"]) => void;
}

/** The request as it goes to the API server. Throws `denied` for an identity that no header carries. */
export function requestFor({ asked, judged, target }: SentRequest, { session, note, signal, onInform }: RequestLife) {
  const { method, body, trailers } = asked;
  const clientIp = ipOf(session.clientAddress);
  const { identity, isProxied, filter } = judged;
  const headers = sentHeaders({ headers: asked.headers, identity, clientIp, isProxied, isFiltered: filter !== undefined });
  const onData = (chunk: Buffer): void => {
    note.bytes.received += chunk.length;
    session.touch();
  };
  return { method, target, headers, body, trailers, signal, onInform, onData, isProxied };
}

async function send(sent: SentRequest, life: RequestLife, isOneOfMany: boolean): Promise<UpstreamAnswer> {
  const { cluster, deps } = life.session;
  try {
    return await cluster.api.send({ ...requestFor(sent, life), isOneOfMany });
  } catch (thrown) {
    if (!life.signal.aborted) deps.onUnreached?.(cluster.name);
    throw unreachedError(cluster.name, thrown);
  }
}

interface Passing {
  readonly session: KubeSession;
  readonly judged: Judged;
  readonly note: RequestNote;
  readonly prefix: string;
  /** As for `ApiRequest`. */
  readonly isOneOfMany: boolean;
  /** Aborted with the reason when the platform ends the request. */
  readonly over: AbortSignal;
}

/** The API server's response, as it comes, or what of it may be shown. */
async function pass(response: UpstreamAnswer, answer: ClientAnswer, { session, judged, note, prefix, isOneOfMany, over }: Passing): Promise<void> {
  const { status, message, hasBody } = response;
  // An error holds no objects.
  const filter = status >= 200 && status < 300 && hasBody ? filterFor(response, judged) : undefined;
  let to: Writable;
  try {
    to = answer.begin({ status, message, headers: headersFor(response, judged, prefix) }, hasBody);
    if (isOneOfMany) setHighWaterMark(to, smallMark);
  } catch (thrown) {
    response.body.destroy();
    throw unreachedError(session.cluster.name, thrown);
  }
  const body = filter === undefined ? response.body : pipeline(response.body, filter, () => {});
  if (judged.isWatch && status === 200) await note.begin(status);
  let last = 0x0a;
  const onPiece = (chunk: Buffer): void => {
    last = chunk.at(-1) ?? last;
    note.bytes.transmitted += chunk.length;
    session.touch();
  };
  const isOver = (): boolean => over.aborted;
  const cut = (): void => end(body, over.reason);
  if (isOver()) cut();
  else over.addEventListener("abort", cut, { once: true });
  try {
    if (hasBody) await copyBody(body, to, onPiece);
    else body.resume();
    // Node ends the body of a stream that was reset, as if it were complete.
    if (hasBody && response.isBroken()) throw new Error("the response is incomplete");
    answer.end(passedTrailers(response.trailers()));
    note.end(status);
  } catch (thrown) {
    // With a reason, or HTTP/2 does not report the end of a stream that was read.
    end(body, thrown);
    end(response.body, thrown);
    const why = isOver() ? toPlatformError(over.reason) : undefined;
    note.end(answer.gone.aborted ? goneStatus : status, why ?? (answer.gone.aborted ? undefined : toPlatformError(thrown)));
    const isBetween = judged.isWatch && last === 0x0a && isPlainJson(response);
    if (why !== undefined && isBetween && !to.destroyed) {
      to.write(errorEvent(why));
      answer.end([]);
    } else answer.abort();
  } finally {
    over.removeEventListener("abort", cut);
  }
}

/** Throws `unavailable` for an answer that cannot be filtered, which is then not shown. */
function filterFor(response: UpstreamAnswer, { filter }: Judged): Transform | undefined {
  if (filter === undefined) return undefined;
  const { headers, body } = response;
  try {
    return filterAnswer({ ...filter, contentType: fieldOf(headers, "content-type"), contentEncoding: fieldOf(headers, "content-encoding") });
  } catch (thrown) {
    body.destroy();
    throw thrown;
  }
}

/** Length and entity tag are those of the whole answer, and dropped from a filtered one. */
function headersFor(response: UpstreamAnswer, { filter, warning }: Judged, prefix: string): ClientRequest["headers"] {
  const passed = answeredHeaders(response.headers, prefix);
  const kept = filter === undefined ? passed : passed.filter(([name]) => !["content-length", "etag"].includes(name.toLowerCase()));
  return warning === undefined ? kept : [...kept, ["Warning", `299 - ${JSON.stringify(warning)}`]];
}

function end(body: Readable, thrown: unknown): void {
  body.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
}

function isPlainJson({ headers }: UpstreamAnswer): boolean {
  const encoding = fieldOf(headers, "content-encoding") ?? "identity";
  return /^application\/json\b/i.test(fieldOf(headers, "content-type") ?? "") && encoding.toLowerCase() === "identity";
}

/** An error in a watch: an event on a line of its own. */
function errorEvent(why: PlatformError): string {
  return `${JSON.stringify({ type: "ERROR", object: statusOf(why) })}\n`;
}
