import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { safeHeaders } from "../server/safe-headers.ts";
import { readArchive, type UiFile } from "./read-archive.ts";

/** `GET /web…`: the Web UI. Its files come from memory; every other path below it is the one page, which finds its way by itself. */
export function uiRoutes(app: FastifyInstance, { archive }: { archive(): Promise<Buffer> }): void {
  let reading: Promise<ReadonlyMap<string, UiFile>> | undefined;
  const files = (): Promise<ReadonlyMap<string, UiFile>> => {
    reading ??= archive()
      .then(readArchive)
      .catch((thrown: unknown) => {
        reading = undefined;
        throw thrown;
      });
    return reading;
  };
  const pageWith =
    (headers: Readonly<Record<string, string>>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const index = (await files()).get("index.html");
      if (index === undefined) throw new Error("the archive of the Web UI has no page");
      return await send(request, reply.headers(headers), index);
    };
  app.get("/web", pageWith(pageHeaders(false)));
  app.get("/web/*", pageWith(pageHeaders(false)));
  // The terminal makes elements of style for its theme and its font, and attributes for 24-bit colours and what is selected.
  // web/router/location.ts loads these documents by themselves.
  for (const path of ["/web/terminal", "/web/recordings/:sid"]) app.get(path, pageWith(pageHeaders(true)));
  app.get<{ Params: { name: string } }>("/web/assets/:name", async (request, reply) => {
    const file = (await files()).get(request.params.name);
    if (file === undefined || request.params.name === "index.html") throw new PlatformError("not_found", "not found", { hint: "reload the page" });
    // Its name changes with its content.
    return await send(request, reply.headers({ ...safeHeaders, "Cache-Control": "public, max-age=31536000, immutable" }), file);
  });
}

/**
 * Only our own files run the page, nothing in it can make code out of text, and it talks to this proxy alone. `styles`: it may make styles of its own.
 */
const pageHeaders = (styles: boolean): Readonly<Record<string, string>> => ({
  ...safeHeaders,
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...(styles ? ["style-src-elem 'self' 'unsafe-inline'", "style-src-attr 'unsafe-inline'"] : []),
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  // The page names its files: it is asked for each time, and answered with 304 while it is the same.
  "Cache-Control": "no-cache",
});

async function send(request: FastifyRequest, reply: FastifyReply, { type, etag, brotli, gzip }: UiFile): Promise<FastifyReply> {
  reply.headers({ ETag: etag, Vary: "Accept-Encoding" });
  if (request.headers["if-none-match"]?.split(/\s*,\s*/).includes(etag) === true) return await reply.code(304).send();
  reply.type(type);
  const accepted = acceptedCodings(request.headers["accept-encoding"]);
  if (accepted.has("br")) return await reply.header("Content-Encoding", "br").send(brotli);
  if (accepted.has("gzip")) return await reply.header("Content-Encoding", "gzip").send(gzip);
  return await reply.send(await promisify(gunzip)(gzip));
}

/** Codings that a header of RFC 9110, 12.5.3 accepts; one with `q=0` is refused. */
function acceptedCodings(header: string | string[] | undefined): ReadonlySet<string> {
  const all = String(header ?? "").split(",");
  return new Set(all.filter((one) => !/;\s*q=0(\.0*)?\s*$/i.test(one)).map((one) => (one.split(";")[0] ?? "").trim().toLowerCase()));
}
