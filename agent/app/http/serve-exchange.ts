import type { Writable } from "node:stream";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import { copyBody } from "../../http/copy-body.ts";
import { type ClientAnswer, type ClientRequest, sendWhole, type UpstreamAnswer, type UpstreamRequest } from "../../http/exchange.ts";
import { passedTrailers } from "../../http/passed-fields.ts";
import { HttpRefusal, refusalReason, refusalResponse, unreached, unready } from "./http-refusal.ts";
import type { HttpSession } from "./http-session.ts";
import { type Judged, judgeTarget } from "./judge-request.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { setHeaders } from "./set-headers.ts";

/** Status in the recording of a request whose client left before the response. */
const goneStatus = 499;

/** Serves one request: to the application and back, or a response of this agent. Never throws. */
export async function serveExchange(asked: ClientRequest, answer: ClientAnswer, session: HttpSession): Promise<void> {
  session.touch();
  const note = noteOf(asked, session);
  try {
    const judged = judgeTarget(asked);
    const redirect = redirectOfRoot(asked.method, judged, session);
    if (redirect !== undefined) {
      note(redirect.status);
      return sendWhole(answer, { head: redirect, body: Buffer.alloc(0) });
    }
    const request = await preparedRequest({ asked, judged }, session, { signal: answer.gone, onInform: (...facts) => answer.inform(...facts) });
    const response = await session.upstream.send(asked, request).catch((thrown: unknown) => {
      throw unreached(session.app.name, thrown);
    });
    note(response.status);
    await pass(response, answer, { session, host: judged.host });
  } catch (thrown) {
    if (answer.gone.aborted) return note(goneStatus);
    const refusal = thrown instanceof HttpRefusal ? thrown : unreached(session.app.name, thrown);
    note(refusal.status);
    logRefusal(refusal, session);
    if (refusal.status === 400 || refusal.status === 501) answer.close();
    const { head, body } = refusalResponse(refusal, asked.headers);
    sendWhole(answer, { head, body: asked.method === "HEAD" ? Buffer.alloc(0) : body });
  }
}

/** Records the outcome of a request, once. */
export function noteOf(
  { method, target }: Pick<ClientRequest, "method" | "target">,
  { visit }: Pick<HttpSession, "visit">,
): (status: number) => void {
  let isNoted = false;
  return (status) => {
    if (isNoted) return;
    isNoted = true;
    visit.request({ method, target, status });
  };
}

export function logRefusal(refusal: HttpRefusal, { log, app }: Pick<HttpSession, "log" | "app">): void {
  const facts = { app: app.name, status: refusal.status, reason: refusalReason(refusal) };
  if (refusal.status >= 500) log.info("a request was not served", facts);
  else log.debug("a request was refused", facts);
}

/** A visitor of `/` goes to the path of the application's address. */
function redirectOfRoot(method: string, { target }: Judged, { app }: HttpSession) {
  const { address } = app;
  if (address.scheme === "tcp" || address.path === "/" || (method !== "GET" && method !== "HEAD")) return undefined;
  const [path, query] = target.split("?", 2);
  if (path !== "/") return undefined;
  const location = query === undefined ? address.path : `${address.path}?${query}`;
  return {
    status: 302,
    message: "",
    headers: [
      ["Location", location],
      ["Content-Length", "0"],
      ["Cache-Control", "no-store"],
    ] as readonly HeaderField[],
  };
}

export interface JudgedRequest {
  readonly asked: ClientRequest;
  readonly judged: Judged;
}

type Life = Pick<UpstreamRequest, "signal" | "onInform">;

/** The request for the application, once it is allowed. Throws HttpRefusal. */
export async function preparedRequest({ asked, judged }: JudgedRequest, session: HttpSession, life: Life): Promise<UpstreamRequest> {
  const { app, traits, clientIp, server, touch } = session;
  const { target, host } = judged;
  const [assertion] = await Promise.all([session.assertion.token(), session.visit.ready()]).catch((thrown: unknown) => {
    throw unready(thrown);
  });
  const set = setHeaders(app.rewrite.headers, { traits, assertion });
  const sent = requestHeaders({
    headers: asked.headers,
    host,
    clientIp,
    server,
    assertion,
    set,
    replaced: app.rewrite.headers.map(([name]) => name),
  });
  const trailers: readonly HeaderField[] = acceptsTrailers(asked.headers) ? [["TE", "trailers"]] : [];
  const { method, body, trailers: last } = asked;
  return { method, target, host: sent.host, headers: [...sent.headers, ...trailers], body, trailers: last, onData: touch, ...life };
}

function acceptsTrailers(headers: readonly HeaderField[]): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === "te" && /(?:^|[\s,])trailers(?:$|[\s,;])/i.test(value));
}

/** The application's response, as it comes. */
async function pass(
  response: UpstreamAnswer,
  answer: ClientAnswer,
  { session, host }: { readonly session: HttpSession; readonly host: string },
): Promise<void> {
  const { status, message, hasBody, body } = response;
  const headers = responseHeaders({ headers: response.headers, host, redirect: session.app.rewrite.redirect });
  let to: Writable;
  try {
    to = answer.begin({ status, message, headers }, hasBody);
  } catch (thrown) {
    body.destroy();
    throw unreached(session.app.name, thrown);
  }
  try {
    if (hasBody) await copyBody(body, to, session.touch);
    else body.resume();
    // Node ends the body of a stream that was reset, as if it were complete.
    if (hasBody && response.isBroken()) throw new Error("the response is incomplete");
    answer.end(passedTrailers(response.trailers()));
  } catch (thrown) {
    // The client notices: it gets no end. With a reason, HTTP/2 does not report the end of a stream that was read.
    body.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    answer.abort();
  }
}
