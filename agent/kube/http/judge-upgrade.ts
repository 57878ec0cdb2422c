import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ClientRequest, fieldOf } from "../../http/exchange.ts";
import type { Judged } from "./judged.ts";

/** Protocols that a request may upgrade to. */
export type StreamProtocol = "spdy" | "websocket";

/**
 * Origin that programs state whose library demands one, such as Go's, which Kubernetes' own specs use. A browser states it only for pages that the user's own
 * computer serves on port 80.
 */
const originOfPrograms = "http://localhost";

/**
 * The protocol that a request wants to upgrade to. Throws `invalid` for an unknown one and for a request with a body; `denied` for a page of another site,
 * since a browser may hold a certificate. Pure.
 */
export function judgeUpgrade({ headers, hosts, body }: Pick<ClientRequest, "headers" | "hosts" | "body">): StreamProtocol {
  if (body !== undefined) throw new PlatformError("invalid", "a request for another protocol has no body");
  const [host = ""] = hosts;
  for (const [name, value] of headers) {
    if (name.toLowerCase() === "origin" && !isAllowedOrigin(value, host))
      throw new PlatformError("denied", "access denied: a page of another site may not open streams to a Kubernetes cluster");
  }
  const protocol = (fieldOf(headers, "upgrade") ?? "").trim().toLowerCase();
  if (protocol === "spdy/3.1") return "spdy";
  if (protocol === "websocket") return "websocket";
  throw new PlatformError("invalid", "the request asks for a protocol that is neither SPDY/3.1 nor a WebSocket");
}

function isAllowedOrigin(origin: string, host: string): boolean {
  if (origin === originOfPrograms) return true;
  return URL.canParse(origin) && URL.canParse(`https://${host}`) && new URL(origin).host === new URL(`https://${host}`).host;
}

/** Refuses a list, a watch or a deletion over a WebSocket when the roles allow only a part of it: nothing filters a WebSocket. Throws `unsupported`. Pure. */
export function judgeFiltered({ filter, deletion }: Pick<Judged, "filter" | "deletion">): void {
  if (filter !== undefined || deletion !== undefined)
    throw new PlatformError("unsupported", "roles allow only a part of the objects, which a WebSocket cannot be limited to", {
      hint: "use a request without Upgrade",
    });
}

/** Checks that the API server's answer switches to the requested protocol, and to no extension that this agent could not read. Throws `unavailable`. Pure. */
export function judgeAgreed(headers: ClientRequest["headers"], protocol: StreamProtocol): void {
  const agreed = (fieldOf(headers, "upgrade") ?? "").trim().toLowerCase();
  if (agreed !== (protocol === "spdy" ? "spdy/3.1" : "websocket") || fieldOf(headers, "sec-websocket-extensions") !== undefined)
    throw new PlatformError("unavailable", "the API server switched to another protocol than the requested one");
}
