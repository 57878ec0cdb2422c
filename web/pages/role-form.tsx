import { useState } from "preact/hooks";
import type { RolePreview } from "../../core/api/web/access.ts";
import type { Role } from "../../core/resources/role.ts";
import { can } from "../api/session.ts";
import { Failure } from "../parts/failure.tsx";
import { Lines } from "../parts/lines.tsx";
import { labelLines, labelsOf, withConditions } from "../text/role-fields.ts";
import type { BesideFacts } from "./document-editor.tsx";
import { RoleChanges } from "./role-changes.tsx";
import { useBeside } from "./use-beside.ts";

/** A role as a form beside its YAML, each of which follows the other; and what its users would gain and lose, before it is saved. */
export function RoleForm(facts: BesideFacts) {
  // What is compared is listed with the reader's own rights.
  return can("role", "list") && can("user", "list") ? <FormAndPreview {...facts} /> : null;
}

function FormAndPreview(facts: BesideFacts) {
  const [users, setUsers] = useState<readonly string[]>([]);
  const { document, isRead, preview, failure, edit } = useBeside<Role, RolePreview>(facts, {
    path: "/role-preview",
    documentOf: ({ role }) => role,
    bodyOf: (role) => ({ role }),
    more: { users },
  });
  return (
    <div class="fields-beside">
      <div>
        <Failure text={failure} />
        {document !== undefined && <Fields role={document} isRead={isRead} edit={edit} />}
      </div>
      <div class="outcome-beside">
        <Lines
          label="Also as if these users had the role"
          value={users.join("\n")}
          placeholder="ann"
          change={(lines) => {
            setUsers([...new Set(lines)].slice(0, 20));
            return undefined;
          }}
        />
        {preview !== undefined && <RoleChanges preview={preview} />}
      </div>
    </div>
  );
}

type Conditions = NonNullable<Role["spec"]["allow"]>;
type Names = "logins" | "db_users" | "db_names" | "kubernetes_groups" | "kubernetes_users";
interface Field {
  readonly label: string;
  readonly side: "allow" | "deny";
  readonly placeholder: string;
  readonly of: { readonly names: Names } | { readonly labels: "node_labels" | "app_labels" | "db_labels" | "kubernetes_labels" };
}

const fields: readonly Field[] = [
  { label: "Logins on hosts", side: "allow", placeholder: "root", of: { names: "logins" } },
  { label: "Hosts with the labels", side: "allow", placeholder: "env=prod", of: { labels: "node_labels" } },
  { label: "Applications with the labels", side: "allow", placeholder: "team=web", of: { labels: "app_labels" } },
  { label: "Databases with the labels", side: "allow", placeholder: "env=test", of: { labels: "db_labels" } },
  { label: "Database users", side: "allow", placeholder: "reader", of: { names: "db_users" } },
  { label: "Database names", side: "allow", placeholder: "*", of: { names: "db_names" } },
  { label: "Kubernetes clusters with the labels", side: "allow", placeholder: "env=test", of: { labels: "kubernetes_labels" } },
  { label: "Kubernetes groups", side: "allow", placeholder: "viewers", of: { names: "kubernetes_groups" } },
  { label: "Kubernetes users", side: "allow", placeholder: "build", of: { names: "kubernetes_users" } },
  { label: "Never the logins", side: "deny", placeholder: "root", of: { names: "logins" } },
  { label: "Never hosts with the labels", side: "deny", placeholder: "env=secret", of: { labels: "node_labels" } },
];

interface FieldsFacts {
  readonly role: Role;
  readonly isRead: boolean;
  readonly edit: (role: Role) => void;
}

function Fields({ role, isRead, edit }: FieldsFacts) {
  return (
    <fieldset disabled={!isRead || (!can("role", "update") && !can("role", "create"))}>
      <legend class="quiet">One entry per line. Everything else is in the text.</legend>
      {fields.map(({ label, side, placeholder, of }) => {
        const conditions: Conditions = role.spec[side] ?? {};
        const value = "names" in of ? (conditions[of.names] ?? []).join("\n") : labelLines(conditions[of.labels]);
        const apply = (lines: string[]): string | undefined => {
          const wanted = "names" in of ? { [of.names]: lines } : { [of.labels]: labelsOf(lines) };
          if (Object.values(wanted).includes(undefined)) return "Write a label as name=value.";
          edit(withConditions(role, side, wanted));
          return undefined;
        };
        return <Lines key={label} label={label} value={value} placeholder={placeholder} change={apply} />;
      })}
    </fieldset>
  );
}
