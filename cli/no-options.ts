import type { Options } from "./command.ts";

/** For tests: a command line without any option. */
export const noOptions: Options = { text: () => undefined, list: () => [], values: () => [], flag: () => false, count: () => 0 };
