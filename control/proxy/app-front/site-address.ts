import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import { ownPaths } from "./app-path.ts";

/** Addresses of the pages that pass a browser back and forth between the proxy's site and those of applications. Pure. */
export class SiteAddresses {
  readonly #proxy: HostPort;

  /** `proxy`: its public address; applications are at the same port. */
  constructor(proxy: HostPort) {
    this.#proxy = proxy;
  }

  /** `https://host`, with a port that is not the usual one. */
  originOf(host: string): string {
    const { port } = this.#proxy;
    const shown = formatHostPort({ host, port });
    return `https://${port === 443 ? shown.slice(0, -":443".length) : shown}`;
  }

  /**
   * The page of the proxy's site that signs a browser in to an application. `path`: where the browser goes on to. `next`: host names of the applications that
   * follow, last the one that `path` belongs to; undefined: not known yet.
   */
  launch(host: string, { path, next }: { readonly path: string; readonly next?: readonly string[] | undefined }): string {
    const query = new URLSearchParams({ path, ...(next !== undefined && { next: next.join(",") }) });
    return `${this.originOf(this.#proxy.host)}/web/launch/${encodeURIComponent(host)}?${query.toString()}`;
  }

  /** Where a hand-off begins, at the application's site. */
  start(host: string): string {
    return `${this.originOf(host)}${ownPaths.start}`;
  }

  /** The page that takes a session over, there. */
  auth(host: string): string {
    return `${this.originOf(host)}${ownPaths.auth}`;
  }
}
