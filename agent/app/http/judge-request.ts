import type { AppCors } from "../../../core/resources/app.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import type { ClientRequest } from "../../http/exchange.ts";
import { hostname, isLoopback } from "./host-name.ts";
import { HttpRefusal } from "./http-refusal.ts";

type JudgedFacts = Pick<ClientRequest, "method" | "target" | "hosts" | "headers">;

export interface Judged {
  /** Path and query, or `*`. */
  readonly target: string;
  readonly host: string;
}

/** Path and query of a request, and its one host. Throws HttpRefusal for a request whose host is not clear. Pure. */
export function judgeTarget({ method, target, hosts, headers }: JudgedFacts): Judged {
  if (method === "CONNECT" || method === "TRACE") throw new HttpRefusal(405, `${method} is not supported`);
  const codings = headers.filter(([name]) => name.toLowerCase() === "transfer-encoding").map(([, value]) => value.trim().toLowerCase());
  // The other codings would be lost: the application gets the body in pieces of its own.
  if (codings.some((coding) => coding !== "chunked")) throw new HttpRefusal(501, "the body of the request has a coding that is not supported");
  const [host = ""] = hosts;
  if (hosts.some((one) => one.toLowerCase() !== host.toLowerCase())) throw new HttpRefusal(400, "the request names two hosts");
  if (!/^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/.test(host)) throw new HttpRefusal(400, "the request names no valid host");
  if (target.startsWith("/") || (target === "*" && method === "OPTIONS")) return { target, host };
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) throw new HttpRefusal(400, "the request names no path");
  const [, authority = "", rest = ""] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target) ?? [];
  if (authority.toLowerCase() !== host.toLowerCase()) throw new HttpRefusal(400, "the request names two hosts");
  return { target: rest.startsWith("/") ? rest : `/${rest}`, host };
}

/** The origin of a page of another site, which may not open a two-way connection: browsers send the cookies of the user with it. Pure. */
export function foreignOrigin(headers: readonly HeaderField[], host: string, cors: AppCors | undefined): string | undefined {
  const origins = headers.filter(([name]) => name.toLowerCase() === "origin").map(([, value]) => value);
  return origins.find((origin) => !isOwnOrigin(origin, host) && !isListed(origin, cors));
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const own = new URL(origin);
  if (own.origin !== origin) return false;
  const secure = own.protocol === "https:" && URL.canParse(`https://${host}`) && new URL(`https://${host}`).host === own.host;
  const local = own.protocol === "http:" && isLoopback(hostname(host)) && new URL(`http://${host}`).host === own.host;
  return secure || local;
}

/** `*` stands for requests without cookies, and these have them; unless the settings allow credentials to every origin. */
function isListed(origin: string, cors: AppCors | undefined): boolean {
  if (cors === undefined || origin === "null") return false;
  return cors.allowed_origins.includes(origin) || (cors.allow_credentials === true && cors.allowed_origins.includes("*"));
}
