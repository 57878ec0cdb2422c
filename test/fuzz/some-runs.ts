/**
 * Runs of a property that has a number of its own, as its runs are dearer than others': `make check` tries it with a share of the inputs of
 * `make test`, as all others, and `make fuzz` with its number, as far as the time goes.
 */
export function someRuns(runs: number): number {
  const usual = 100;
  const wanted = Number(process.env.FUZZ_RUNS ?? usual);
  return wanted > usual ? wanted : Math.ceil((runs * wanted) / usual);
}
