import type { Role } from "../../core/resources/role.ts";

type Conditions = NonNullable<Role["spec"]["allow"]>;
type Labels = NonNullable<Conditions["node_labels"]>;

/** The entries of a field: its lines, without empty ones. Pure. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Label matchers, a line for each value: `env=prod`, `env=test`. Undefined when lines cannot say it. Pure. */
export function labelLines(labels: Labels | undefined): string | undefined {
  const lines = Object.entries(labels ?? {}).flatMap(([key, values]) => [values].flat().map((value) => `${key}=${value}`));
  const same = labelsOf(lines);
  return same !== undefined && JSON.stringify(same) === JSON.stringify(normal(labels ?? {})) ? lines.join("\n") : undefined;
}

/** The label matchers of such lines; undefined when one of them has no `=`. Pure. */
export function labelsOf(lines: readonly string[]): Labels | undefined {
  const labels = new Map<string, string[]>();
  for (const line of lines) {
    const at = line.indexOf("=");
    if (at < 1) return undefined;
    const key = line.slice(0, at).trim();
    labels.set(key, [...(labels.get(key) ?? []), line.slice(at + 1).trim()]);
  }
  return normal(Object.fromEntries(labels));
}

/** One value stands alone. */
function normal(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels).map(([key, values]) => [key, Array.isArray(values) && values.length === 1 ? (values[0] ?? "") : values]),
  );
}

/** The role with other conditions on one side; what is empty is left out. Pure. */
export function withConditions(role: Role, side: "allow" | "deny", changed: Partial<Conditions>): Role {
  const filled = Object.entries({ ...role.spec[side], ...changed }).filter(([, value]) => value !== undefined && Object.keys(value).length > 0);
  const { [side]: _, ...rest } = role.spec;
  return { ...role, spec: { ...rest, ...(filled.length > 0 && { [side]: Object.fromEntries(filled) }) } };
}
