/**
 * The reason why passkeys do not work at an address; undefined: they do. `host` is that of the page with its port, `proxy` the proxy's public address, which is not
 * known before a login. Pure.
 */
export function noPasskeys({
  host,
  proxy,
  isSupported,
}: {
  readonly host: string;
  readonly proxy?: string;
  readonly isSupported: boolean;
}): string | undefined {
  if (isAddress(host)) return "Passkeys do not work at an IP address: open the proxy by its name.";
  const own = proxy?.toLowerCase().replace(/:443$/, "");
  if (own !== undefined && own !== host.toLowerCase()) {
    return isAddress(own)
      ? "Passkeys need a proxy with a name: its address is an IP address."
      : `Passkeys work at ${own} alone: open the proxy by that address.`;
  }
  return isSupported ? undefined : "This browser cannot use passkeys.";
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}(:\d+)?$/.test(host);
}
