import { existsSync } from "node:fs";

/** Asks the name service. */
const getents = ["/usr/bin/getent", "/bin/getent"] as const;
/** Its exit status when there is no such entry. */
export const notFound = 2;

/** Its path; undefined: this host has none, and only the files of /etc. */
export function findGetent(): string | undefined {
  return getents.find((path) => existsSync(path));
}
