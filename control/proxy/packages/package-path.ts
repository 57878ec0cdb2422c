/** Maximum length of a file's path below the folder, characters. */
const maxPath = 1024;

/**
 * The part of a URL's path after `/packages/` as a relative file name. Package managers and people write `/./` and `//`, which
 * mean nothing. Undefined for anything else: a folder's path, `..` or any other name with a leading
 * dot, an encoded slash or NUL, bad encoding.
 */
export function parsePackagePath(path: string): string | undefined {
  if (path.length > maxPath) return undefined;
  let names: readonly string[];
  try {
    names = path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const steps = names.filter((name, at) => (name !== "" && name !== ".") || at === names.length - 1);
  return steps.every((name) => /^[^./\\\0][^/\\\0]*$/.test(name)) ? steps.join("/") : undefined;
}
