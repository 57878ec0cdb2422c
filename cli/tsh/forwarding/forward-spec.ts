import { PlatformError } from "../../../core/errors/platform-error.ts";

/** A listening address or a target: a port of a host, or a Unix socket. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };

/** One `-L` or `-R`. */
export interface ForwardSpec {
  readonly listen: Endpoint;
  readonly connect: Endpoint;
}

type Part = { readonly text: string; readonly isPath: boolean };

/**
 * `[bind:]port:host:hostport`, with Unix sockets on either side (`/a:/b`, `port:/b`, `/a:host:port`) and IPv6 in brackets, as
 * ssh takes them. Pure. Throws `invalid`.
 */
export function parseForward(text: string, option: "-L" | "-R"): ForwardSpec {
  const parts = split(text);
  const refuse = (): never => {
    throw new PlatformError("invalid", `${option} ${JSON.stringify(text)} is not a valid forward`, {
      hint: `write it as ${option} [bind:]port:host:hostport; IPv6 in brackets, Unix sockets as paths`,
    });
  };
  if (parts === undefined) return refuse();
  const [first, ...rest] = parts;
  if (first === undefined) return refuse();
  const listenCount = first.isPath || isPort(first, option) ? 1 : 2;
  const listen = endpointOf(parts.slice(0, listenCount), option === "-R");
  const connect = endpointOf(listenCount === 1 ? rest : rest.slice(1), false);
  return listen === undefined || connect === undefined ? refuse() : { listen, connect };
}

/** `[bind:]port` of `-D`. */
export function parseDynamic(text: string): { readonly host: string; readonly port: number } {
  const parts = split(text);
  const listen = parts !== undefined && parts.length <= 2 && endpointOf(parts, false);
  if (!listen || "path" in listen)
    throw new PlatformError("invalid", `-D ${JSON.stringify(text)} is not a port`, { hint: "write it as -D [bind:]port" });
  return listen;
}

/** Splits at colons outside of brackets; a part that begins with / is a path. */
function split(text: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  let rest = text;
  for (;;) {
    const found = /^(?:\[([^\]]*)\]|([^:[\]]*))(:|$)/.exec(rest);
    if (found === null) return undefined;
    const part = found[1] ?? found[2] ?? "";
    parts.push({ text: part, isPath: found[1] === undefined && part.startsWith("/") });
    if (found[3] !== ":") return parts;
    rest = rest.slice(found[0].length);
  }
}

function isPort({ text, isPath }: Part, option: "-L" | "-R"): boolean {
  return !isPath && portOf(text, option === "-R") !== undefined;
}

function portOf(text: string, allowsZero: boolean): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 && (port > 0 || allowsZero) ? port : undefined;
}

/** A path, a port of loopback, or a host and its port. An empty host or `*` is every address. */
function endpointOf(parts: readonly Part[], allowsZero: boolean): Endpoint | undefined {
  const [first, second] = parts;
  if (first === undefined || parts.length > 2) return undefined;
  if (first.isPath) return parts.length === 1 ? { path: first.text } : undefined;
  if (second === undefined) {
    const port = portOf(first.text, allowsZero);
    return port === undefined ? undefined : { host: "localhost", port };
  }
  const port = second.isPath ? undefined : portOf(second.text, allowsZero);
  if (port === undefined) return undefined;
  return { host: first.text === "*" ? "" : first.text, port };
}
