import type { Node } from "../../../core/resources/node.ts";

export interface NamedHost {
  readonly id: string;
  /** Its name; with the id behind it where several have that name. Fit for a file's name. */
  readonly name: string;
}

/** Pure: gives every host a name of its own. */
export function nameHosts(nodes: readonly Node[]): readonly NamedHost[] {
  const count = new Map<string, number>();
  for (const { spec } of nodes) count.set(key(spec.hostname), (count.get(key(spec.hostname)) ?? 0) + 1);
  const named = nodes.map(({ metadata, spec }) => {
    const isAlone = count.get(key(spec.hostname)) === 1;
    return { id: metadata.name, name: isAlone ? spec.hostname : `${spec.hostname}.${metadata.name}` };
  });
  // A host may be called what another one is called with its id.
  return new Set(named.map(({ name }) => key(name))).size === named.length ? named : named.map(({ id }) => ({ id, name: id }));
}

/** Names differ by more than upper and lower case: some file systems see no difference. */
function key(name: string): string {
  return name.toLowerCase();
}
