/** Descriptor of `session-start`, open for as long as this process lives. Unavailable from source: the build replaces this file with its loader. */
export function sessionProgram(): number | undefined {
  return undefined;
}
