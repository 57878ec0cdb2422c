import { relative, resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { readTimes } from "./story-times.ts";

const root = resolve(import.meta.dirname, "../..");
/** Files that take longest, for a checkout in which nothing has run yet; the order of the others hardly matters. */
const knownLong = ["power-cuts", "installers", "upgrade", "repository", "install-script", "packages", "agent-service", "bad-versions", "role-option"];

/** Starts long story files first: files run side by side, and a long one that starts last would run alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readTimes();
    const secondsOf = ({ moduleId }: TestSpecification): number => {
      const path = relative(root, moduleId);
      return times[path] ?? guess(path);
    };
    return (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a));
  }
}

/** Seconds. */
function guess(path: string): number {
  const place = knownLong.findIndex((name) => path.startsWith(`test/stories/${name}`));
  return place < 0 ? 0 : 1_000 - place;
}
