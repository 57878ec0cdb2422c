import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { parseVersion } from "../../../core/versions/parse-version.ts";
import type { KeptAnswer } from "./upstream.ts";

const keptSchema = z.object({
  version: z.literal(1),
  /** By URL. */
  upstreams: z.record(
    z.string(),
    z.object({
      version: z.string().refine((text) => text === "none" || (text.startsWith("v") && parseVersion(text) !== undefined)),
      critical: z.boolean().optional(),
      at: z.number(),
    }),
  ),
});

const maxFileBytes = 1_048_576;

/** The last good answers from before a restart, by URL. A missing or unreadable file counts as empty. */
export async function readKeptAnswers(file: string): Promise<ReadonlyMap<string, KeptAnswer>> {
  try {
    const text = await readFile(file, "utf8");
    if (text.length > maxFileBytes) return new Map();
    const { upstreams } = keptSchema.parse(JSON.parse(text));
    return new Map(Object.entries(upstreams).map(([url, { version, critical, at }]) => [url, { version, critical, at }]));
  } catch {
    return new Map();
  }
}

/** Replaces the file in one step. Throws the file system's errors. */
export async function writeKeptAnswers(file: string, answers: ReadonlyMap<string, KeptAnswer>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Two processes write during a handover.
  const fresh = `${file}.${process.pid}.new`;
  const handle = await open(fresh, "w", 0o600);
  try {
    await handle.writeFile(JSON.stringify({ version: 1, upstreams: Object.fromEntries(answers) }));
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}
