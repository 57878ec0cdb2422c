/**
 * V8's settings in the executable. A small young generation keeps an idle agent small. Buffers of a stream count against the old
 * one: without room for what comes between two collections of the young one, V8 looked at the whole heap for each 12 MB that passed
 * (docs/decisions/0031). Both in MiB.
 */
export const v8Options: readonly string[] = ["--max-semi-space-size=1", "--initial-old-space-size=96"];
