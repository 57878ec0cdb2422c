import { type HostPort, parseHostPort } from "../../../core/transport/host-port.ts";

/*
 * A page of another site can have its own name resolve to 127.0.0.1 (DNS rebinding): the browser then takes a local port for that site, and its requests go
 * out in the user's name. They state that site's name as their host. HTTP/2 begins like a request without a host; no browser speaks it without TLS.
 */

/** Longest head of a request, bytes. */
const maxHead = 65_536;
/** Browsers write a first line of this length in one piece, bytes. */
const wholeLine = 4_096;
/** Port 0: any. */
const anyPort = 0;

/** What the beginning of a connection asks for. `foreign`: the host of another site. */
export type FirstRequest = { readonly kind: "own" | "other protocol" | "too long" } | { readonly kind: "foreign"; readonly host: string };

/** Names of a local port: `name` with any port, or `name:port`. Throws `invalid`. */
export function hostOption(values: readonly string[]): readonly HostPort[] {
  return values.map((text) => parseHostPort(text, anyPort, "--host"));
}

/** The names under which clients on this machine reach a local port. Pure. */
export function loopbackHosts(port: number): readonly HostPort[] {
  return ["127.0.0.1", "localhost", "::1"].map((host) => ({ host, port }));
}

/** The first request of a connection, by its first bytes; undefined: more are needed. Pure. */
export function firstRequest(bytes: Buffer, own: readonly HostPort[]): FirstRequest | undefined {
  const text = bytes.toString("latin1").replace(/^[\r\n]+/, "");
  if (!/^(?:$|[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:$| +(?:$|[/*]|[A-Za-z])))/.test(text)) return { kind: "other protocol" };
  const [head, end] = text.split(/\r?\n\r?\n/, 2);
  if (bytes.length > maxHead) return { kind: "too long" };
  if (head === undefined || end === undefined) return undefined;
  const foreign = namedHosts(head).find((host) => !isOwn(host, own));
  return foreign === undefined ? { kind: "own" } : { kind: "foreign", host: foreign };
}

/**
 * Whether the first piece of a connection can be of a request from a browser. What cannot is some other protocol, whose client may wait for an answer to
 * exactly these bytes. Pure.
 */
export function startsRequest(bytes: Buffer): boolean {
  const text = bytes.toString("latin1").replace(/^[\r\n]+/, "");
  const end = text.indexOf("\n");
  return end < 0 ? bytes.length >= wholeLine : / HTTP\/\d\.\d[ \t]*\r?$/.test(text.slice(0, end));
}

/** Every host that a request names. A browser names one; the agent of a web application refuses a request without. */
function namedHosts(head: string): readonly string[] {
  const [start = "", ...fields] = head.split(/\r?\n/);
  const authority = /^\S+ +[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?# ]*)/.exec(start)?.[1];
  const hosts = fields.flatMap((field) => /^host[ \t]*:[ \t]*(.*?)[ \t]*$/i.exec(field)?.[1] ?? []);
  return authority === undefined ? hosts : [authority, ...hosts];
}

/** Port 80 is left out of a host. */
const usualPort = 80;

function isOwn(text: string, own: readonly HostPort[]): boolean {
  const [, six, name = six, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? usualPort : Number(digits);
  return own.some((one) => one.host.toLowerCase() === name?.toLowerCase() && (one.port === anyPort || one.port === port));
}
