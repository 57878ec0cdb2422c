import { once } from "node:events";
import { psqlArguments } from "./postgres-world.ts";
import { type RunOptions, start } from "./program.ts";
import { until } from "./until.ts";

/** A psql that a story types into and reads. */
export interface HeldPsql extends AsyncDisposable {
  /** Both outputs so far. */
  said(): string;
  type(text: string): void;
  /** Ctrl-C. */
  interrupt(): void;
  /** Runs a query and waits for its answer. Throws when psql has ended. */
  ask(): Promise<void>;
  /** Waits until it has said this. */
  until(wanted: RegExp): Promise<void>;
  /** Its exit status, once it has ended. */
  readonly ended: Promise<number>;
}

/** Opens it on a local port, or by a connection string, and waits until it is connected. */
export async function holdPsql(to: number | string, user?: string): Promise<HeldPsql> {
  return await holdPsqlWith(typeof to === "string" ? ["-XAt", to] : psqlArguments(to, user));
}

/** The same with these arguments. */
export async function holdPsqlWith(args: readonly string[], options: RunOptions = {}): Promise<HeldPsql> {
  const child = start("psql", args, options);
  let said = "";
  let asked = 0;
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdin?.on("error", () => {});
  let isOver = false;
  const ended = once(child, "close").then(([code]) => {
    isOver = true;
    return (code as number | null) ?? -1;
  });
  const held: HeldPsql = {
    said: () => said,
    type: (text) => void child.stdin?.write(text),
    interrupt: () => void child.kill("SIGINT"),
    ask: async () => {
      asked += 1;
      held.type(`select 'answer ' || ${asked};\n`);
      await held.until(new RegExp(`^answer ${asked}$`, "m"));
    },
    until: async (wanted) => {
      await until(`psql says ${String(wanted)}`, () => wanted.test(said) || isOver);
      if (!wanted.test(said)) throw new Error(`psql has ended: ${said}`);
    },
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
  await held.ask();
  return held;
}
