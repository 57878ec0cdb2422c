import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { getJson, type JsonOver } from "./get-json.ts";
import type { AskedPart, ListPart } from "./read-pods.ts";

export interface ListAsk<T> {
  /** Name of the cluster, for messages. */
  readonly cluster: string;
  /** Of the list, without a query. */
  readonly path: string;
  /** Reads an answer of the API server. */
  readonly read: (answer: unknown, asked: AskedPart) => ListPart<T>;
}

export interface Listed<T> {
  readonly items: readonly T[];
  /** The cluster has more of them. */
  readonly hasMore: boolean;
}

/** Objects of one answer, answers, objects in all, and the time for all of them, ms. */
const [partSize, maxParts, maxObjects, listMs] = [100, 40, 2_000, 20_000] as const;
/** Bytes of all answers, after which no further one is asked for. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Lists objects in parts over one connection, within the limits: answers can be long, because the cluster and anyone who may create objects there control their
 * length. A part may have fewer objects than requested where roles filter the list. Throws what `getJson` and `read` throw.
 */
export async function listObjects<T>(over: JsonOver, { cluster, path, read }: ListAsk<T>): Promise<Listed<T>> {
  const items: T[] = [];
  const until = performance.now() + listMs;
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

/** A list that took longer than the API server remembers it has to begin again, which is the user's to do. */
async function continued<T>(part: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (part === 0 || !(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("unavailable", "the list changed while it was read", { hint: "try again" });
  }
}
