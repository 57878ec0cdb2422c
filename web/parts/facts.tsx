import type { ComponentChildren } from "preact";

export type NamedFact = readonly [name: string, value: ComponentChildren];

/** Names and values; one whose value is undefined is left out. */
export function Facts({ of }: { readonly of: readonly NamedFact[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
