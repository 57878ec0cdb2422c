import { createHash } from "node:crypto";
import { servedKinds, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { Change, Storage } from "../../storage/storage.ts";

/** Keys of the resources that agents offer. */
export const resourcePrefixes: readonly string[] = servedKinds.map((kind) => `/${serviceKinds[kind].served.resource}/`);

/** Another one whenever one of these resources has changed. */
export async function resourcesRevision(storage: Pick<Storage, "list">): Promise<string> {
  const entries = (await Promise.all(resourcePrefixes.map((prefix) => storage.list(prefix)))).flat();
  return digest(entries.map(({ key, revision }) => [key, revision]));
}

/** The revision that follows after a change; undefined for one that does not concern these resources. It costs no reading of them all. Pure. */
export function resourceChanged(before: string, change: Change): string | undefined {
  const [key, revision] = change.kind === "put" ? [change.entry.key, change.entry.revision] : [change.key, ""];
  return resourcePrefixes.some((prefix) => key.startsWith(prefix)) ? digest([before, key, revision]) : undefined;
}

function digest(facts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}
