import { getCACertificates } from "node:tls";

let roots: readonly string[] | undefined;

/** The authorities that this machine trusts (its own store; where it has none, the list that Node carries), PEM. */
export function trustedRoots(): readonly string[] {
  if (roots === undefined) {
    const system = getCACertificates("system");
    roots = system.length > 0 ? system : getCACertificates("bundled");
  }
  return roots;
}
