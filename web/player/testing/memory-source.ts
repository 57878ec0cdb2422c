import { RecordingSource } from "../recording-source.ts";

/** A recording in memory; `asked`: the offsets at which it was asked for parts. */
export function memorySource(file: Buffer): { readonly source: RecordingSource; readonly asked: readonly number[] } {
  const asked: number[] = [];
  const source = new RecordingSource(async ({ offset, length }) => {
    asked.push(offset);
    return { bytes: new Uint8Array(file.subarray(offset, offset + length)), isRunning: false };
  });
  return { source, asked };
}

export async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
