import type { ListedApp } from "../../core/api/web/served.ts";

/** Host name of an application: its own, or a name below the proxy's. Pure. */
export function appAddress({ name, public_addr: own }: Pick<ListedApp, "name" | "public_addr">, proxy: string): string {
  return own ?? `${name}.${proxy.replace(/:443$/, "")}`;
}

/** The page that opens an application: it makes a session there first. Pure. */
export function launchPath(address: string): string {
  return `/web/launch/${encodeURIComponent(address)}`;
}
