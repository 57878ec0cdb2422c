import fc from "fast-check";

/* Loaded before unit tests: `make fuzz` sets how often each property is tried. */

const runs = Number(process.env.FUZZ_RUNS ?? 0);
if (runs > 0) fc.configureGlobal({ numRuns: runs });
