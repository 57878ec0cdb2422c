import { expect, test } from "vitest";
import { memoryTricks } from "../architecture/private-parts.ts";
import { idleConnections } from "../world/idle-connections.ts";

test("every memory trick saves more than 2 KiB of an idle connection", { timeout: 600_000 }, async () => {
  const connections = 300;
  const all = await idleConnections("", connections);
  for (const { file } of memoryTricks) {
    const without = await idleConnections(file, connections);
    const saved = (without.objects + without.native - all.objects - all.native) / connections;
    expect(saved, file).toBeGreaterThan(2);
  }
});
