import { readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { askSecrets } from "../ask.ts";
import type { CliIo } from "../io.ts";

/** A secret as `-` (standard input) or `@file`: on the command line every user of the host could read it. */
export async function readSecretOption(io: CliIo, value: string, flag: string): Promise<string> {
  if (value === "-") return (await askSecrets(io, ["Secret"]))[0] ?? "";
  if (!value.startsWith("@")) {
    throw new PlatformError("invalid", `${flag}: a secret does not belong on the command line, where every user of this host can read it`, {
      hint: `write ${flag}=- to give it on standard input, or ${flag}=@file`,
    });
  }
  const file = value.slice(1);
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new PlatformError("invalid", `${flag}: could not read ${file}: ${(cause as Error).message}`, { cause });
  }
}
