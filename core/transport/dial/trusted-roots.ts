import { getCACertificates } from "node:tls";

let roots: readonly string[] | undefined;

/** The authorities that this machine trusts (its own store; where it has none, the list that Node carries), PEM. */
export function trustedRoots(): readonly string[] {
  if (roots === undefined) {
    // A store holds most of them twice, in a bundle and in a file each.
    const system = [...new Set(getCACertificates("system"))];
    roots = system.length > 0 ? system : getCACertificates("bundled");
  }
  return roots;
}
