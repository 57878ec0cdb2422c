import type { Labels as LabelMap } from "../../core/resources/metadata.ts";

/** Labels as small boxes. `choose`: each is a button, usually to search for it. */
export function Labels({ labels, choose }: { readonly labels: LabelMap; readonly choose?: (label: string) => void }) {
  const all = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  if (all.length === 0) return <span class="quiet">none</span>;
  return (
    <ul class="labels">
      {all.map((label) => (
        <li key={label}>{choose === undefined ? <span class="label">{label}</span> : <LabelButton label={label} choose={choose} />}</li>
      ))}
    </ul>
  );
}

function LabelButton({ label, choose }: { readonly label: string; readonly choose: (label: string) => void }) {
  return (
    <button type="button" class="label" title={`Search for ${label}`} onClick={() => choose(label)}>
      {label}
    </button>
  );
}
