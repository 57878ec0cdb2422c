import { shellWord } from "./size.ts";

/** The command line that logs a user in. Pure. */
export function loginLine(proxy: string, user: string): string {
  return `tsh login --proxy=${shellWord(proxy)} --user=${shellWord(user)}`;
}
