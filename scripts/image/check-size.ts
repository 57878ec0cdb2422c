import type { Descriptor, OciLayout } from "./oci-layout.ts";

/** Maximum bytes to download for the image of one architecture. */
const maxImageBytes = 50_000_000;

/** The size of an image to download, in words. Throws if it is too large: nodes fetch it with each new version. */
export async function checkSize(layout: Pick<OciLayout, "downloadSize">, manifest: Pick<Descriptor, "digest">): Promise<string> {
  const bytes = await layout.downloadSize(manifest);
  const text = `${(bytes / 1e6).toFixed(1)} MB`;
  if (bytes > maxImageBytes) throw new Error(`the image is ${text} to download, more than ${maxImageBytes / 1e6} MB: leave something out`);
  return text;
}
