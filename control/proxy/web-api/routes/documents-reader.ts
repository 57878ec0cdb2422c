import { setImmediate } from "node:timers/promises";
import { type AnyResource, anyResourceSchema } from "../../../../core/api/web/documents.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { createFairQueue } from "../../../../core/limits/fair-queue.ts";
import { Buckets } from "../../../limits/buckets.ts";
import { parseBoundedYaml } from "./bounded-yaml.ts";

/** Characters that a user may send to be stored, and as many for previews; either bounds the processor time for them to a tenth. */
const ofUser = { perSecond: 20_000, burst: 1_000_000 };

/** Reads the resource in a text of this user, as `readYaml` does. Throws as it does, and `limit` for a user who sends too much, or when too many texts wait. */
export type ReadYaml = (user: string, text: string) => Promise<AnyResource>;

/** Readers by what the text is for: however many previews a user asks for, their document can be stored. */
export interface DocumentsReader {
  readonly toStore: ReadYaml;
  readonly toPreview: ReadYaml;
}

/** Reads one text at a time; users take turns, and other work of the process goes on in between. `clock`: monotonic milliseconds. */
export function documentsReader(clock: () => number): DocumentsReader {
  const turns = createFairQueue({ atOnce: 1, waiting: 32, what: "documents" });
  const reader = (what: string): ReadYaml => {
    const sent = new Buckets(ofUser);
    return async (user, text) => {
      if (!sent.take(user, [text.length], new Date(clock())))
        throw new PlatformError("limit", `you have sent too many ${what}`, { hint: "try again in a minute" });
      return await turns(user, async () => {
        await setImmediate();
        return readYaml(text);
      });
    };
  };
  return { toStore: reader("documents"), toPreview: reader("documents for previews") };
}

/** The resource in a text that a user wrote; without its read-only part, so that what was shown can be saved. Throws `invalid` with the line, and `limit`. */
export function readYaml(text: string): AnyResource {
  const parsed = anyResourceSchema.safeParse(parseBoundedYaml(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new PlatformError(
      "invalid",
      `the document is malformed at ${issue?.path.join(".") || "the top"}: ${issue?.message ?? "it is not a resource"}`,
    );
  }
  const { status: _status, ...document } = parsed.data;
  return document;
}
