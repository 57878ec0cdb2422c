import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSize } from "./check-size.ts";
import { json, OciLayout } from "./oci-layout.ts";

test("an image of more than 50 MB to download is refused", async () => {
  const dir = await mkdtemp(join(tmpdir(), "platform-image-size-"));
  try {
    const layout = await OciLayout.create(join(dir, "layout"));
    const manifest = (size: number) => layout.add(json({ config: { size: 1_000 }, layers: [{ size: 2_800_000 }, { size }] }), "manifest");
    expect(await checkSize(layout, await manifest(47_199_000))).toBe("50.0 MB");
    await expect(checkSize(layout, await manifest(47_199_001))).rejects.toThrow(/50\.0 MB to download, more than 50 MB/);
  } finally {
    await rm(dir, { recursive: true });
  }
});
