import type { Machine } from "./machine.ts";
import { until } from "./until.ts";

/** A terminal of a machine, into which a test types. */
export interface Terminal extends AsyncDisposable {
  /** Types a line. */
  type(line: string): void;
  /** Waits until this is shown after the last typed line; returns the output since then. */
  shows(wanted: RegExp, limitMs?: number): Promise<string>;
}

/** A user's login shell in a real terminal. */
export function openTerminal(machine: Machine, user: string): Terminal {
  const service = machine.service(["script", "--quiet", "--command", `su - ${user}`, "/dev/null"], { env: { TERM: "xterm" } });
  let from = 0;
  return {
    type: (line) => {
      from = service.printed().length;
      service.type(`${line}\n`);
    },
    shows: (wanted, limitMs) =>
      until(
        `the terminal shows ${wanted}`,
        () => {
          const text = service.printed().slice(from);
          if (wanted.test(text)) return text;
          throw new Error(`${service.exited ? "it has ended" : "so far"}: ${text.slice(-2_000)}`);
        },
        limitMs,
      ),
    [Symbol.asyncDispose]: () => service.kill(),
  };
}
