/** A host without its port, lower case. Pure. */
export function hostname(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

/** Whether a host, without its port, is the visitor's own machine: a local port of tsh speaks plain HTTP. Pure. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
