import type { Node } from "../../../core/resources/node.ts";

export interface NamedHost {
  readonly id: string;
  /** Its name, followed by the id where several have that name. Usable as a file name. */
  readonly name: string;
}

/** Gives every host a unique name. Pure. */
export function nameHosts(nodes: readonly Node[]): readonly NamedHost[] {
  const count = new Map<string, number>();
  for (const { spec } of nodes) count.set(key(spec.hostname), (count.get(key(spec.hostname)) ?? 0) + 1);
  const named = nodes.map(({ metadata, spec }) => {
    const isAlone = count.get(key(spec.hostname)) === 1;
    return { id: metadata.name, name: isAlone ? spec.hostname : `${spec.hostname}.${metadata.name}` };
  });
  // The name of a host may equal another one's name with its id.
  return new Set(named.map(({ name }) => key(name))).size === named.length ? named : named.map(({ id }) => ({ id, name: id }));
}

/** Names differ in more than case: some file systems ignore case. */
function key(name: string): string {
  return name.toLowerCase();
}
