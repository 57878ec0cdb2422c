import { link, open, rename, rm } from "node:fs/promises";

/** Errors of file systems without hard links: FAT, exFAT, some network folders. */
const withoutLinks: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/**
 * Gives a finished file its name, and never replaces another one. Without hard links the name is taken by an empty file first, which the finished one then
 * replaces. Throws as `link` and `open` do, EEXIST for a name that is taken.
 */
export async function placeFile(made: string, file: string, linkTo: typeof link = link): Promise<void> {
  try {
    return await linkTo(made, file);
  } catch (thrown) {
    if (!withoutLinks.has((thrown as NodeJS.ErrnoException).code)) throw thrown;
  }
  await (await open(file, "wx", 0o600)).close();
  try {
    await rename(made, file);
  } catch (thrown) {
    await rm(file, { force: true });
    throw thrown;
  }
}
