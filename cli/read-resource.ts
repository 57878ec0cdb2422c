import { readDocument, resourceDocument } from "../core/resources/document.ts";
import type { Resource } from "../core/resources/resource-specs.ts";

/**
 * A resource from the auth service, which has checked it against the schema of its own version. Fields that this version does not know stay in it: they
 * are printed, not refused.
 */
export function readResource<T extends Resource>(json: string): T {
  return readDocument(resourceDocument, json) as unknown as T;
}
