/** Descriptor of `session-start`, open for as long as this process lives. There is none from source: the build puts its loader in the place of this file. */
export function sessionProgram(): number | undefined {
  return undefined;
}
