import { inject } from "postject";

export interface Injected {
  readonly data: Buffer;
  /** Mark of the runtime's binary that is set when something was injected. */
  readonly fuse: string;
}

/**
 * A message that postject's library prints a dozen times for each executable: it names the notes that it finds in segments after ".note", and
 * then searches these names in the table of sections, where they are missing. The notes themselves are still written.
 */
const harmless = /^warning: Can't find string offset for section name '\.note(\.\d+)?'$/;

/** Injects a resource; every other line that the library prints is shown. One at a time: the lines come through `console.warn`. */
export async function injectQuietly(file: string, resource: string, { data, fuse }: Injected): Promise<void> {
  const warn = console.warn;
  console.warn = (...words: unknown[]): void => {
    if (!(words.length === 1 && harmless.test(String(words[0])))) warn(...words);
  };
  try {
    await inject(file, resource, data, { sentinelFuse: fuse });
  } finally {
    console.warn = warn;
  }
}
