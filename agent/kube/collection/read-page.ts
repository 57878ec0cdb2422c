import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** One page of a list: the names of its objects. */
export interface Page {
  readonly names: readonly string[];
  /** Token of the next page; empty on the last one. */
  readonly next: string;
}

/** Maximum size of one page, bytes, and objects in it. */
export const maxPage = { bytes: 16 * 1024 * 1024, objects: 10_000 } as const;

const pageSchema = z.object({
  kind: z.string().regex(/List$/),
  metadata: z.object({ continue: z.string().max(8_192).optional() }),
  items: z
    .array(z.object({ metadata: z.object({ name: z.string(), namespace: z.string().optional() }) }))
    .max(maxPage.objects)
    .nullable(),
});

/** The page in the API server's answer to a list in `namespace` (empty: of a kind that has none). Throws `unavailable` for something else. Pure. */
export function readPage(body: Buffer, namespace: string): Page {
  const parsed = pageSchema.safeParse(jsonOf(body));
  if (!parsed.success) throw new PlatformError("unavailable", "the API server's list of the objects to delete cannot be read");
  const items = (parsed.data.items ?? []).map(({ metadata }) => metadata);
  if (items.some((item) => (item.namespace ?? "") !== namespace))
    throw new PlatformError("unavailable", "the API server listed objects of another namespace than the one that was asked for");
  return { names: items.map(({ name }) => name), next: parsed.data.metadata.continue ?? "" };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
