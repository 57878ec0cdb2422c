import { describe, expect, test } from "vitest";
import type { Quality } from "../testing/memory-agent.ts";
import { MemoryHost } from "../testing/memory-host.ts";
import { runTick } from "./run-tick.ts";

/** A version is compared with its predecessor's state just before: it must not be worse, and need not be better. */
describe("an upgrade of an agent that was not well", () => {
  test.for<[before: string, quality: Quality, running: string | undefined]>([
    ["had no tunnel", "mute", "1.0.0"],
    ["did not answer", "crashes", undefined],
  ])("one that %s does not cause a roll-back", async ([, quality, running]) => {
    const answer = { kind: "version", version: "1.1.0", critical: false } as const;
    const host = new MemoryHost({ answer, qualities: { "1.0.0": quality, "1.1.0": quality } });
    host.agent.running = running;
    expect(await runTick(host.world(), { forced: false })).toMatchObject({ reason: "upgraded" });
    expect([host.installed, host.found.skip]).toEqual(["1.1.0", []]);
  });

  test("with that in the detail", async () => {
    const answer = { kind: "version", version: "1.1.0", critical: false } as const;
    const host = new MemoryHost({ answer, qualities: { "1.0.0": "crashes", "1.1.0": "crashes" } });
    host.agent.running = undefined;
    expect(await runTick(host.world(), { forced: false })).toMatchObject({
      detail: expect.stringContaining("as before the upgrade, the agent is not well"),
    });
  });
});
