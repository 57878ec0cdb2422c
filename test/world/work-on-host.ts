import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { User } from "./cluster-user.ts";
import { copyUp } from "./copy-load.ts";
import { allWell, startLoad } from "./session-load.ts";

/** People at work on one host, from before changes until after them: what `startLoad` has, and copies by scp. */
export interface WorkOnHost extends AsyncDisposable {
  /** Does this while a copy is under way. All that is open answers afterwards, the copy is whole, no login has failed; a line tells the figures. */
  during(what: string, act: () => Promise<unknown>): Promise<void>;
  /** Ends it all: nothing was cut. */
  end(): Promise<void>;
}

export async function startWork(user: User, target: string, dir: string): Promise<WorkOnHost> {
  const folder = await mkdtemp(join(dir, "work-"));
  const load = await startLoad(user, { target, folder, bytes: 200_000_000, bytesPerSecond: 4_000_000, everyMs: 3_000 });
  const { waitsMs, failures } = load.logins;
  return {
    during: async (what, act) => {
      const [begun, before] = [performance.now(), waitsMs.length];
      const copied = copyUp(user, { target, folder, bytes: 15_000_000, bytesPerSecond: 1_000_000 });
      copied.catch(() => {});
      await act();
      await load.stillThere();
      expect(await copied).toBe(true);
      expect(failures).toEqual([]);
      const seconds = ((performance.now() - begun) / 1000).toFixed(0);
      process.stdout.write(`held: ${what}, ${seconds} s: 4 connections and a copy of 15 MB; ${spread(waitsMs.slice(before))}\n`);
    },
    end: async () => {
      expect({ whole: await load.transferred, ended: await load.finish(), failures }).toEqual({ whole: true, ended: allWell, failures: [] });
    },
    [Symbol.asyncDispose]: () => load[Symbol.asyncDispose](),
  };
}

function spread(waitsMs: readonly number[]): string {
  const sorted = [...waitsMs].sort((a, b) => a - b);
  const seconds = (ms = 0): string => `${(ms / 1000).toFixed(2)} s`;
  return `${sorted.length} logins, median ${seconds(sorted[sorted.length >> 1])}, longest ${seconds(sorted.at(-1))}`;
}
