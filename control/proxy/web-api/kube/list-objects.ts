import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { getJson, type JsonOver } from "./get-json.ts";
import type { AskedPart, ListPart } from "./read-pods.ts";

export interface ListAsk<T> {
  /** Name of the cluster, for messages. */
  readonly cluster: string;
  /** Path of the list at the API server, without a query. */
  readonly path: string;
  /** Parses one answer of the API server. May throw PlatformError. */
  readonly read: (answer: unknown, asked: AskedPart) => ListPart<T>;
}

export interface Listed<T> {
  readonly items: readonly T[];
  /** Whether the cluster has more of them. */
  readonly hasMore: boolean;
}

/** Maximum objects in one answer, answers for one list, and objects in the list. */
const [partSize, maxParts, maxObjects] = [100, 40, 2_000] as const;
/** Total size of the answers after which no further one is requested, bytes. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Objects of a Kubernetes cluster, requested part by part over one connection until there are no more or a limit is reached. Limits are needed because the
 * cluster, and anyone who may create objects in it, decides how long the answers are. A part has fewer objects than requested where roles hide some of them.
 * Throws as `getJson` and `read` do.
 */
export async function listObjects<T>(over: JsonOver, { cluster, path, read }: ListAsk<T>): Promise<Listed<T>> {
  const items: T[] = [];
  const until = performance.now() + over.limits.listMs;
  let [next, bytes] = ["", 0];
  for (let part = 0; part < maxParts && items.length < maxObjects && bytes < maxBytes && performance.now() < until; part += 1) {
    const query = new URLSearchParams({ limit: String(partSize), ...(next !== "" && { continue: next }) });
    const { value, size } = await continued(part, async () => await getJson(over, { cluster, path: `${path}?${query.toString()}` }));
    const answer = read(value, { cluster, most: partSize });
    items.push(...answer.items);
    bytes += size;
    next = answer.next;
    if (next === "") return { items, hasMore: false };
  }
  return { items: items.slice(0, maxObjects), hasMore: true };
}

/** The result of `ask`. Throws `unavailable` when the API server no longer remembers the list that it was asked to continue: the user has to start it again. */
async function continued<T>(part: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (part === 0 || !(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("unavailable", "the list changed while it was read", { hint: "try again" });
  }
}
