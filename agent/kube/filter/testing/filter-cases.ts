import type { ListFilter, Shows } from "../list-filter.ts";
import type { WatchFilter } from "../watch-filter.ts";

/** Shows names that begin with `web`, in the namespaces a and none. */
export const shows: Shows = (namespace, name) => name.startsWith("web") && ["a", ""].includes(namespace);

/** All that a filter lets through of these chunks. Throws what the filter throws. */
export function filtered(filter: ListFilter | WatchFilter, chunks: readonly Buffer[]): string {
  const out = chunks.map((chunk) => Buffer.from(filter.write(chunk)));
  filter.end();
  return Buffer.concat(out).toString("utf8");
}

/** Cuts bytes at these places, each modulo their length. */
export function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((one, other) => one - other);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}

/** A pod whose text and labels look like the end of an object and like a name that is shown. */
export function pod(namespace: string | undefined, name: string, more: object = {}): object {
  return {
    metadata: { name, ...(namespace !== undefined && { namespace }), labels: { name: "web-hidden" } },
    spec: { text: '}]"\\u0022' },
    ...more,
  };
}
