import { signal } from "@preact/signals";

/** Folder of the Web UI on the proxy's site. */
const base = "/web";

/** A place in the Web UI. */
export interface Place {
  /** Below the folder of the Web UI, with a slash in front. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Where the reader is. Changes with each navigation, and with the browser's Back and Forward. */
export const place = signal<Place>(read());

function read(): Place {
  const { pathname, search } = location;
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return { path: path === "" ? "/" : path, query: new URLSearchParams(search) };
}

/** The address of a place below the folder of the Web UI, for links. */
export function hrefOf(path: string): string {
  return `${base}${path}`;
}

/** Goes to a place; `replace`: without a step in the browser's history. */
export function navigate(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const { pathname } = new URL(hrefOf(path), location.href);
  if (pathname !== location.pathname && (hasTerminal(pathname) || hasTerminal(location.pathname))) {
    location.assign(hrefOf(path));
    return;
  }
  if (replace) history.replaceState(undefined, "", hrefOf(path));
  else history.pushState(undefined, "", hrefOf(path));
  place.value = read();
  if (!replace) scrollTo(0, 0);
}

/** Changes one value of the query in place; an empty one is removed. */
export function setQuery(name: string, value: string): void {
  const { path, query } = place.value;
  const next = new URLSearchParams(query);
  if (value === "") next.delete(name);
  else next.set(name, value);
  navigate(next.size === 0 ? path : `${path}?${next}`, { replace: true });
}

/** Pages below the folder that are not of the Web UI itself. */
function isApart(path: string): boolean {
  return path.startsWith(`${base}/invite/`) || path.startsWith(`${base}/launch/`);
}

/** Whether a page shows a terminal: its document has a policy of its own (control/proxy/web-api/ui), so it is loaded, and left, as a document. */
export function hasTerminal(path: string): boolean {
  return /^\/web\/(?:terminal|recordings\/[^/]+)\/?$/.test(path);
}

/** Follows clicks on links within the Web UI without loading the page again, and the browser's history. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(`${base}/`) || isApart(link.pathname)) return;
    if (hasTerminal(link.pathname) || hasTerminal(location.pathname)) return;
    event.preventDefault();
    navigate(`${link.pathname.slice(base.length)}${link.search}`);
  });
}
