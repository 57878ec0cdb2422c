/** Address at which an agent reaches an application, in its parts. */
export type AppUri = TcpAppUri | WebAppUri | UnixAppUri;

export interface TcpAppUri {
  readonly scheme: "tcp";
  readonly host: string;
  /** Undefined: the application lists its ports. */
  readonly port: number | undefined;
}

export interface WebAppUri {
  readonly scheme: "http" | "https";
  /** Name or address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Where visitors of `/` are sent; `/` for none. */
  readonly path: string;
}

/** HTTP over a Unix socket of the agent's host. */
export interface UnixAppUri {
  readonly scheme: "unix";
  readonly socketPath: string;
  readonly path: "/";
}

const defaultPorts = { "http:": 80, "https:": 443 } as const;

/** `tcp://host[:port]`, `http://host[:port][/path]`, `https://…` or `unix:///path`; undefined for what is not one. Pure. */
export function parseAppUri(text: string): AppUri | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(text);
  if (`${username}${password}${search}${hash}` !== "" || /[\s\\]/.test(text)) return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  switch (protocol) {
    case "tcp:":
      if (host === "" || port === "0" || pathname !== "" || text.endsWith(":")) return undefined;
      return { scheme: "tcp", host, port: port === "" ? undefined : Number(port) };
    case "http:":
    case "https:": {
      const scheme = protocol === "http:" ? "http" : "https";
      return host === "" || port === "0" ? undefined : { scheme, host, port: port === "" ? defaultPorts[protocol] : Number(port), path: pathname };
    }
    case "unix:":
      // The longest path of a Unix socket has 107 bytes.
      return /^\/[^%\0]{1,106}$/.test(pathname) && text === `unix://${pathname}` ? { scheme: "unix", socketPath: pathname, path: "/" } : undefined;
    default:
      return undefined;
  }
}

/** Whether the application speaks HTTP, or bytes that the platform does not look at. Pure. */
export function speaksHttp(uri: AppUri): uri is WebAppUri | UnixAppUri {
  return uri.scheme !== "tcp";
}
