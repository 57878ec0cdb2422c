/** Loads the names of one kind. */
export type Load<T> = () => Promise<T>;

/** What was loaded lately, for as long as it is kept. */
export interface KeptLoads<T> {
  /** The answers, or those of before if they are young enough and for the same reader. One that fails is loaded again the next time. */
  take(reader: string, loads: readonly Load<T>[]): readonly Promise<T>[];
}

export function keepLoads<T>(ms: number, now: () => number): KeptLoads<T> {
  let kept: { readonly reader: string; readonly at: number; readonly answers: readonly Promise<T>[] } | undefined;
  return {
    take: (reader, loads) => {
      if (kept !== undefined && kept.reader === reader && now() - kept.at < ms) return kept.answers;
      const made = { reader, at: now(), answers: loads.map((load) => load()) };
      kept = made;
      for (const answer of made.answers) {
        answer.catch(() => {
          if (kept === made) kept = undefined;
        });
      }
      return made.answers;
    },
  };
}
