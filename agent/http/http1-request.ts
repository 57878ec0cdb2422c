import type { IncomingMessage } from "node:http";
import { type ClientRequest, fieldPairs } from "./exchange.ts";

/** The request as its client sent it. Pure. */
export function clientRequest(request: IncomingMessage): ClientRequest {
  const all = fieldPairs(request.rawHeaders);
  const { method = "", url: target = "", headers: parsed } = request;
  const hasBody = parsed["transfer-encoding"] !== undefined || (parsed["content-length"] ?? "0") !== "0";
  return {
    method,
    target,
    hosts: all.filter(([name]) => name.toLowerCase() === "host").map(([, value]) => value),
    headers: all.filter(([name]) => name.toLowerCase() !== "host"),
    body: hasBody ? request : undefined,
    trailers: () => fieldPairs(request.rawTrailers),
    version: 1,
  };
}
