import { getCACertificates } from "node:tls";

let roots: readonly string[] | undefined;

/** The authorities that this machine trusts (its own store, or Node's list if it has none), PEM. */
export function trustedRoots(): readonly string[] {
  if (roots === undefined) {
    // A store has most of them twice, in a bundle and in separate files.
    const system = [...new Set(getCACertificates("system"))];
    roots = system.length > 0 ? system : getCACertificates("bundled");
  }
  return roots;
}
