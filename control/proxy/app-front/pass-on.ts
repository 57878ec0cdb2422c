import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { gatherPieces } from "../../../core/node-internals/gather-pieces.ts";
import { ignoreError } from "../../../core/transport/dial/attempt.ts";
import { gatherWrites } from "../../../core/transport/gather-writes.ts";
import { pour } from "../../../core/transport/pour.ts";
import { withoutOwnCookies } from "../web-api/cookies.ts";
import { agentRequest, changedProtocol, refuseUpgrade } from "./agent-requests.ts";

/** Attempts of a safe request without a body whose kept connection the agent has closed in the same moment. */
const maxAttempts = 3;

/** The outcome of passing a request to the agent. */
export interface Passing {
  readonly agent: Agent;
  /** Aborted when the client's connection has closed: an answer may be complete before its request is. */
  readonly left: AbortSignal;
  /** Called with the failure of a request whose answer has not begun. */
  readonly failed: (thrown: unknown) => void;
}

/**
 * Passes a request on to an agent, and the answer back, both as they are except for our own cookies and what concerns one connection alone. Nothing is buffered:
 * each side waits for the other. A body is sent once. Resolves when the request has no connection to the agent any more. Never throws.
 */
export function passOn(request: IncomingMessage, response: ServerResponse, passing: Passing): Promise<void> {
  return new Promise((resolve) => attempt(request, response, { ...passing, tries: maxAttempts, over: resolve }));
}

type Trying = Passing & { readonly tries: number; readonly over: () => void };

function attempt(request: IncomingMessage, response: ServerResponse, trying: Trying): void {
  const { agent, left, failed, tries, over } = trying;
  const { method, url: path, rawHeaders } = request;
  const upstream = agentRequest({ method, path, headers: requestHeaders(rawHeaders), over: agent, left });
  const stopBody = hasBody(request) ? sendBody(request, upstream) : undefined;
  let [answered, isRepeated] = [false, false];
  const leave = (): void => void upstream.destroy();
  left.addEventListener("abort", leave, { once: true });
  upstream.once("close", () => {
    left.removeEventListener("abort", leave);
    if (!isRepeated) over();
  });
  upstream.once("response", (answer) => {
    answered = true;
    try {
      passBack(answer, response);
    } catch (thrown) {
      // Nothing has been sent: Node reads status lines that it refuses to write.
      answer.destroy();
      response.statusMessage = "";
      failed(thrown);
    }
  });
  upstream.once("error", (thrown) => {
    stopBody?.();
    if (answered || response.destroyed) return void response.destroy();
    isRepeated = upstream.reusedSocket && tries > 1 && isRepeatable(request);
    if (isRepeated) return attempt(request, response, { ...trying, tries: tries - 1 });
    failed(thrown);
  });
  refuseUpgrade(upstream, failed);
  // Requests of several connections share a tunnel.
  upstream.once("socket", gatherWrites);
  response.once("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  if (stopBody === undefined) upstream.end();
}

/** Returns the function that stops it. The request is put together while it waits (GatheredMessage). */
function sendBody(request: IncomingMessage, upstream: ClientRequest): () => void {
  const stopPouring = pour(request, upstream);
  const onEnd = (): void => void upstream.end();
  const stop = (): void => {
    stopPouring();
    request.off("end", onEnd).pause();
  };
  if (request.readableEnded) onEnd();
  else request.once("end", onEnd).resume();
  upstream.once("close", stop);
  return stop;
}

/** Whether a request may reach the application twice: nobody knows what it has done with one whose connection broke (RFC 9110, 9.2.2). */
function isRepeatable(request: IncomingMessage): boolean {
  return ["GET", "HEAD", "OPTIONS"].includes(request.method ?? "") && !hasBody(request);
}

/** Whether a request has a body, which may have been read already. Pure. */
export function hasBody({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function passBack(answer: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 502, statusMessage = "" } = answer;
  // Without the fields of an upgrade, a 101 is a response for Node.
  if (statusCode === 101) throw changedProtocol();
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, answerHeaders(answer.rawHeaders) as string[]);
  if (response.socket !== null) gatherWrites(response.socket);
  // An event stream may send nothing for long. Not `flushHeaders`, which writes them in UTF-8.
  response.write("", "latin1");
  answer.once("end", () => {
    if (answer.rawTrailers.length > 0) response.addTrailers(pairs(answer.rawTrailers));
  });
  answer.once("aborted", () => response.destroy());
  answer.once("error", () => response.destroy());
  response.on("error", ignoreError).once("close", pour(gatherPieces(answer), response));
  answer.once("end", () => response.end());
}

/** Headers of a request without our own cookies, as a flat list. `Expect` was answered here. The agent judges all others. Pure. */
export function requestHeaders(raw: readonly string[]): readonly string[] {
  return mapped(raw, (name, value) => {
    if (name === "expect" || name === "keep-alive" || name === "proxy-connection") return undefined;
    if (name === "connection") return withoutLife(value) || undefined;
    return name === "cookie" ? withoutOwnCookies(value) || undefined : value;
  });
}

/** A Connection header without the words about the client's own connection. What stays are names of headers, which the agent leaves out. */
function withoutLife(value: string): string {
  const tokens = value.split(",").map((token) => token.trim());
  return tokens.filter((token) => !["close", "keep-alive", ""].includes(token.toLowerCase())).join(", ");
}

/** What concerns the connection to the agent alone. */
const ofConnection: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "proxy-connection", "upgrade"]);

/** Headers of an answer, as a flat list. Pure. */
export function answerHeaders(raw: readonly string[]): readonly string[] {
  return mapped(raw, (name, value) => (ofConnection.has(name) ? undefined : value));
}

/** A flat list with changed values. `change` gets a name in lower case; undefined: the header is left out. */
function mapped(raw: readonly string[], change: (name: string, value: string) => string | undefined): readonly string[] {
  const all: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? "";
    const value = change(name.toLowerCase(), raw[at + 1] ?? "");
    if (value !== undefined) all.push(name, value);
  }
  return all;
}

function pairs(raw: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: Math.floor(raw.length / 2) }, (_, index) => [raw[2 * index] ?? "", raw[2 * index + 1] ?? ""]);
}
