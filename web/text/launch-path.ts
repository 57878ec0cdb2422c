/** The page that opens the application at a host name: it signs the browser in there first. Pure. */
export function launchPath(host: string): string {
  return `/web/launch/${encodeURIComponent(host)}`;
}
