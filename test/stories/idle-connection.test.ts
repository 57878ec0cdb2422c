import { expect, test } from "vitest";
import { memoryTricks } from "../architecture/private-parts.ts";
import { idleConnections } from "../world/idle-connections.ts";

test("every memory trick saves of an idle connection what the list of them says, with room for noise", { timeout: 600_000 }, async () => {
  const connections = 300;
  const all = await idleConnections("", connections);
  for (const { file, savesKib } of memoryTricks) {
    const without = await idleConnections(file, connections);
    const saved = (without.objects + without.native - all.objects - all.native) / connections;
    console.log(`${file} saves ${saved.toFixed(1)} KiB of an idle connection`);
    expect(saved, file).toBeGreaterThan(Math.max(2, 0.6 * savesKib));
  }
});
