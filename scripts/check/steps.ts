/** One rule keeper of `make check`: a program of node_modules/.bin with its arguments, run at the root. */
export interface Step {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What is added to the priority number of this process, and so of its children. */
  readonly niceness?: number;
}

/** For programs in Go that run beside the tests: threads that look at the same types once more, and frequent collections, cost a third of their time. */
const frugal = { GOMAXPROCS: "1", GOGC: "400" };

/** What `make check` runs. test/architecture/rules-fire.slow.test.ts runs the same steps on planted violations. */
export const steps = {
  types: { name: "types", program: "tsc", args: ["-p", ".", "--checkers", "1"], env: frugal },
  webTypes: { name: "types of the Web UI", program: "tsc", args: ["-p", "web", "--checkers", "1"], env: frugal },
  format: { name: "format and lint", program: "biome", args: ["ci", "--error-on-warnings", "."] },
  lint: { name: "lint with types", program: "oxlint", args: ["--type-aware", "--deny-warnings"], env: frugal },
  unused: { name: "nothing unused", program: "knip", args: ["--no-progress", "--treat-config-hints-as-errors"] },
  generated: { name: "generated code", program: "node", args: ["scripts/check/generated.ts"] },
  tests: {
    name: "unit tests",
    program: "vitest",
    args: ["run", "--project", "unit", "--reporter=dot", "--reporter=json", "--outputFile.json=.cache/reports/unit.json"],
    // The others are done first, and the tests then have all processors: the other way round, lint would end alone on one.
    niceness: 5,
  },
} as const satisfies Readonly<Record<string, Step>>;
