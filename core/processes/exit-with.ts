/**
 * Makes the status that `work` resolves to the process's own. Until then the status is a failure: a promise that nothing settles any more
 * lets the event loop run empty, and that must never look like success. `unfinished` reports it.
 */
export function exitWith(work: Promise<number>, unfinished: () => void): void {
  process.exitCode = 1;
  process.once("beforeExit", unfinished);
  void work.then((status) => {
    process.off("beforeExit", unfinished);
    process.exitCode = status;
    // A handle that somebody forgot must not keep a finished command alive; output has had time to drain.
    setTimeout(() => process.exit(), 2000).unref();
  });
}
