import { existsSync } from "node:fs";

/** Asks the name service. */
const getents = ["/usr/bin/getent", "/bin/getent"] as const;
/** Its exit status when there is no such entry. */
export const notFound = 2;

/** Its path; undefined when this host does not have it and uses only the files of /etc. */
export function findGetent(): string | undefined {
  return getents.find((path) => existsSync(path));
}
