import { relative, resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { orderFiles } from "./order-files.ts";
import { readTimes } from "./story-times.ts";

const root = resolve(import.meta.dirname, "../..");

/** Starts long story files first: files run side by side, and a long one that starts last would run alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const pathOf = ({ moduleId }: TestSpecification): string => relative(root, moduleId);
    const sorted = await super.sort(files);
    const places = new Map(orderFiles(sorted.map(pathOf), readTimes()).map((path, at) => [path, at]));
    const placeOf = (file: TestSpecification): number => places.get(pathOf(file)) ?? 0;
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
