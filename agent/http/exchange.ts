import type { Readable, Writable } from "node:stream";
import type { HeaderField } from "../../core/resources/app-headers.ts";

/** One request as its client sent it, whatever the version of HTTP. */
export interface ClientRequest {
  readonly method: string;
  /** As in the request line, or `:path`. */
  readonly target: string;
  /** Every `Host`, and `:authority`. */
  readonly hosts: readonly string[];
  /** All fields but `Host` and those that HTTP/2 begins with a colon. */
  readonly headers: readonly HeaderField[];
  /** Undefined: the request has none. */
  readonly body: Readable | undefined;
  /** Valid once the body has ended. */
  readonly trailers: () => readonly HeaderField[];
  readonly version: 1 | 2;
}

export interface ResponseHead {
  readonly status: number;
  /** The reason phrase; empty for HTTP/2. */
  readonly message: string;
  readonly headers: readonly HeaderField[];
}

/** A response with its body, whose length is among its fields. */
export interface WholeResponse {
  readonly head: ResponseHead;
  readonly body: Buffer;
}

/** Where the response to one request goes. */
export interface ClientAnswer {
  /** Aborted when the client has left before the end of the response. */
  readonly gone: AbortSignal;
  /** An interim response (1xx). */
  inform(status: number, headers: readonly HeaderField[]): void;
  /** Begins the response, which goes out at once. Its body goes into the result, which is not ended but finished by `end`. */
  begin(head: ResponseHead, hasBody: boolean): Writable;
  end(trailers: readonly HeaderField[]): void;
  /** The connection takes no more requests: of what it carries, two readers could make different ones. */
  close(): void;
  /** The client opens another connection for its next request; what runs on this one goes on. */
  retire(): void;
  /** Breaks the response off in a way that the client notices. */
  abort(): void;
}

/** A request as it goes to the server. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query, or `*`. */
  readonly target: string;
  readonly host: string;
  /** All fields but `Host`; those of a connection are not among them. */
  readonly headers: readonly HeaderField[];
  readonly body: Readable | undefined;
  readonly trailers: () => readonly HeaderField[];
  readonly signal: AbortSignal;
  readonly onInform: (status: number, headers: readonly HeaderField[]) => void;
  /** Called with each piece of its body. */
  readonly onData: (chunk: Buffer) => void;
}

export interface UpstreamAnswer extends ResponseHead {
  readonly body: Readable;
  /** Whether the response may have a body. */
  readonly hasBody: boolean;
  /** Valid once the body has ended. */
  readonly trailers: () => readonly HeaderField[];
  /** Whether the body has ended without being complete. */
  readonly isBroken: () => boolean;
}

/** Sends a whole response. Never throws. */
export function sendWhole(answer: ClientAnswer, { head, body }: WholeResponse): void {
  try {
    const to = answer.begin(head, body.length > 0);
    if (body.length > 0) to.write(body);
    answer.end([]);
  } catch {
    answer.abort();
  }
}

/** `[name, value, name, value]`, as Node gives and takes fields, in pairs. Pure. */
export function fieldPairs(raw: readonly string[]): readonly HeaderField[] {
  const pairs: HeaderField[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}

/** The value of the only field of this name; of several, the first. Pure. */
export function fieldOf(headers: readonly HeaderField[], name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}
