import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/running/longest-first.ts";
import { memoryFolder } from "./test/running/memory-folder.ts";
import { SkipNotes } from "./test/running/skip-notes.ts";
import { StoryTimes } from "./test/running/story-times.ts";

const exclude = ["node_modules/**", "dist/**", ".cache/**"];
/** Set by `make test`: where the report of a whole run of the stories goes. */
const report = process.env.STORIES_REPORT;

/**
 * `unit`: fast, in one process, without root; `make check` runs it. `slow`: the same, but of seconds each: they run beside the stories,
 * which wait most of their time. `stories`: the built executable and real programs; files run side by side, as most of
 * their time they wait. `stories-alone`: the few that measure memory or speed, or have limits of time that are not ours, one file at a time, after the others.
 */
const alone = ["agent-memory", "hostile-ssh", "kubernetes-conformance", "long-stream"].map((name) => `test/stories/${name}.test.ts`);
/** Node loads the sources itself: a fresh checkout has no transforms of Vite's that were kept, and they cost a tenth of `make check`. */
const native = { viteModuleRunner: false, nodeLoader: false };
/** Most of what tests make is garbage at once: in a large young generation it costs less processor time than in one that grows. MiB. */
const execArgv = ["--min-semi-space-size=16", "--max-semi-space-size=64", `--import=${resolve(import.meta.dirname, "test/running/module-hooks.ts")}`];
/** Tests leave nothing behind in their process, so that files can share one. */
const inside = { setupFiles: ["test/fuzz/fuzz-runs.ts"], env: { TMPDIR: memoryFolder() }, isolate: false };
const slow = "**/*.slow.test.ts";
const stories = { testTimeout: 180_000, hookTimeout: 180_000, setupFiles: ["test/running/processor-time.ts"] };

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Its default of a second is less than a first back-off.
    expect: { poll: { timeout: 20_000 } },
    // A value in the message of a failure: the default shows "[ Array(1) ]". Long enough for what a command printed.
    chaiConfig: { truncateThreshold: 1_000 },
    execArgv,
    experimental: native,
    sequence: { sequencer: LongestFirst },
    reporters: report === undefined ? ["default"] : ["verbose", ["json", { outputFile: report }], new StoryTimes(), new SkipNotes()],
    projects: [
      {
        extends: true,
        test: {
          ...inside,
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...exclude, "test/stories/**", slow],
          // One worker more than a small machine has cores, as many wait.
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: { ...inside, name: "slow", include: [slow], exclude, maxWorkers: 4, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: "stories",
          ...stories,
          include: ["test/stories/**/*.test.ts"],
          exclude: [...exclude, ...alone],
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: "stories-alone", ...stories, include: alone, exclude, fileParallelism: false, sequence: { groupOrder: 2 } } },
    ],
  },
});
