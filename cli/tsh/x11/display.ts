/** An X server as DISPLAY names it. */
export interface Display {
  readonly connect: { readonly path: string } | { readonly host: string; readonly port: number };
  readonly screen: number;
  /** Its name for xauth(1). */
  readonly name: string;
}

const firstPort = 6000;

/** `:0`, `:0.1`, `unix:0`, `host:0`, or a socket's path with `:0` after it. Undefined for anything else. Pure. */
export function parseDisplay(text: string): Display | undefined {
  const found = /^(.*):(\d{1,4})(?:\.(\d{1,3}))?$/.exec(text);
  if (found === null) return undefined;
  const [, host = "", number = "", screen = "0"] = found;
  const display = Number(number);
  const facts = { screen: Number(screen), name: text };
  if (host.startsWith("/")) return { ...facts, connect: { path: host } };
  if (host === "" || host === "unix") return { ...facts, name: `unix:${display}`, connect: { path: `/tmp/.X11-unix/X${display}` } };
  if (!/^[A-Za-z0-9.:[\]_-]{1,255}$/.test(host)) return undefined;
  return { ...facts, connect: { host: host.replace(/^\[(.*)\]$/, "$1"), port: firstPort + display } };
}
