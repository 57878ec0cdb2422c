import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The archive of the Web UI, made from the sources at the first request. The build replaces this file with one that has it (scripts/build/bundle.ts). */
export async function uiArchive(): Promise<Buffer> {
  const root = join(import.meta.dirname, "../../../..");
  const maker: unknown = await import(/* @vite-ignore */ pathToFileURL(join(root, "scripts/build/web-ui.ts")).href);
  return await (maker as { makeUiArchive(folder: string): Promise<Buffer> }).makeUiArchive(root);
}
