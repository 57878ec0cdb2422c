/** Runs of a property that has a number of its own: `make check` tries it, like all others, with a share of the inputs of `make test`. */
export function someRuns(runs: number): number {
  const share = Number(process.env.FUZZ_RUNS ?? 100) / 100;
  return Math.ceil(runs * Math.min(1, share));
}
