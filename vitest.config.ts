import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

const exclude = ["node_modules/**", "dist/**", ".cache/**"];

/** `unit`: fast, in one process, without root. `stories`: the built executable and real programs, one file at a time. */
export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        // The build puts its own loader there.
        resolve: { alias: [{ find: /^.*\/host-addon\.ts$/, replacement: resolve(import.meta.dirname, "test/world/compiled-host-addon.ts") }] },
        test: {
          name: "unit",
          setupFiles: ["test/fuzz/fuzz-runs.ts"],
          include: ["**/*.test.ts"],
          exclude: [...exclude, "test/stories/**"],
          // Tests leave nothing behind in their process, so that files can share one; one worker more than a small machine has cores, as many wait.
          isolate: false,
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: "stories",
          setupFiles: ["test/world/left-locks.ts"],
          include: ["test/stories/**/*.test.ts"],
          exclude,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
