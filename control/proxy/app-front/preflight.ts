import type { AppCors } from "../../../core/resources/app.ts";

export interface PreflightAsk {
  readonly method: string;
  readonly origin: string | undefined;
  /** Access-Control-Request-Method. */
  readonly wanted: string | undefined;
}

/**
 * The answer to a pre-flight request for an application with a `cors` policy: browsers send it without cookies, so that the application could not answer.
 * Undefined: it is not a pre-flight request, or the policy does not allow the origin; it then needs a session, like every other request. Pure.
 */
export function preflightHeaders(cors: AppCors | undefined, { method, origin, wanted }: PreflightAsk): Readonly<Record<string, string>> | undefined {
  if (cors === undefined || method !== "OPTIONS" || origin === undefined || wanted === undefined) return undefined;
  const { allowed_origins: origins, allowed_methods: methods, allowed_headers: headers, exposed_headers: exposed } = cors;
  const isListed = origins.includes(origin);
  if (!isListed && !origins.includes("*")) return undefined;
  const withCookies = cors.allow_credentials === true;
  return {
    "Access-Control-Allow-Origin": isListed || withCookies ? origin : "*",
    Vary: "Origin",
    ...(methods.length > 0 && { "Access-Control-Allow-Methods": methods.join(", ") }),
    ...(headers.length > 0 && { "Access-Control-Allow-Headers": headers.join(", ") }),
    ...(exposed.length > 0 && { "Access-Control-Expose-Headers": exposed.join(", ") }),
    ...(withCookies && { "Access-Control-Allow-Credentials": "true" }),
    ...(cors.max_age !== undefined && { "Access-Control-Max-Age": String(cors.max_age) }),
  };
}
