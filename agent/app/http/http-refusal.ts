import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import { fieldOf, type WholeResponse } from "../../http/exchange.ts";

/** A response of this agent instead of the application's. */
export class HttpRefusal extends Error {
  readonly status: number;

  /** `message`: a sentence for the visitor, without anything internal. */
  constructor(status: number, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/** The refusal of a request whose application could not be reached or did not answer with HTTP. Pure. */
export function unreached(app: string, cause: unknown): HttpRefusal {
  if (cause instanceof HttpRefusal) return cause;
  const isLate = cause instanceof PlatformError && cause.code === "timeout";
  if (isLate) return new HttpRefusal(504, `the application ${app} did not answer in time`, { cause });
  return new HttpRefusal(502, `the application ${app} could not be reached`, { cause });
}

/** The refusal of a request that could not start, because its token or its record was not available. Pure. */
export function unready(cause: unknown): HttpRefusal {
  if (cause instanceof HttpRefusal) return cause;
  const { code } = toPlatformError(cause);
  if (code === "denied" || code === "mfa_required" || code === "unauthenticated") return new HttpRefusal(403, "access denied", { cause });
  return new HttpRefusal(503, "the platform cannot serve this request now; try again in a moment", { cause });
}

/** The reason of a refusal for this agent's log. Pure. */
export function refusalReason({ message, cause }: HttpRefusal): string {
  return cause === undefined ? message : errorText(cause);
}

/** The response that states a refusal: a page for browsers, JSON for programs that prefer it. Pure. */
export function refusalResponse({ status, message }: HttpRefusal, headers: readonly HeaderField[]): WholeResponse {
  const accept = fieldOf(headers, "accept") ?? "";
  const isPage = accept.includes("text/html");
  const isJson = !isPage && accept.includes("json");
  const body = Buffer.from(isPage ? page(status, message) : isJson ? `${JSON.stringify({ error: { status, message } })}\n` : `${message}\n`);
  const type = isPage ? "text/html" : isJson ? "application/json" : "text/plain";
  const fields: readonly HeaderField[] = [
    ["Content-Type", `${type}; charset=utf-8`],
    ["Content-Length", String(body.length)],
    ["Cache-Control", "no-store"],
    ["X-Content-Type-Options", "nosniff"],
    ["Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"],
    ...(status === 405 ? [["Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"] as const] : []),
  ];
  return { head: { status, message: "", headers: fields }, body };
}

function page(status: number, message: string): string {
  const text = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const style = "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:34rem;padding:0 1rem}";
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status}</title><style>${style}</style><h1>${status}</h1><p>${text}</p></html>\n`;
}
