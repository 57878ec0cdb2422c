import { useId, useState } from "preact/hooks";
import type { UserPreview } from "../../core/api/web/access.ts";
import type { Role } from "../../core/resources/role.ts";
import type { User } from "../../core/resources/user.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Failure } from "../parts/failure.tsx";
import { Lines } from "../parts/lines.tsx";
import { roleLine } from "../text/role-line.ts";
import { countText } from "../text/size.ts";
import { traitLines, traitsOf, withLogins, withOtherTraits, withRoles } from "../text/user-fields.ts";
import type { BesideFacts } from "./document-editor.tsx";
import { ChangeList } from "./role-changes.tsx";
import { useBeside } from "./use-beside.ts";

/** A user as a form beside the YAML, each of which follows the other; and what the user would gain and lose, before it is saved. */
export function UserForm(facts: BesideFacts) {
  // What is compared is listed with the reader's own rights.
  return can("role", "list") && can("user", "list") ? <FormAndPreview {...facts} /> : null;
}

function FormAndPreview(facts: BesideFacts) {
  const loaded = useLoaded("role", async (signal) => (await call<{ resources: readonly Role[] }>("/resources/role", { signal })).resources);
  const { document, isRead, preview, failure, edit } = useBeside<User, UserPreview>(facts, {
    path: "/user-preview",
    documentOf: ({ user }) => user,
    bodyOf: (user) => ({ user }),
  });
  const isNew = document?.metadata.revision === undefined;
  const isTaken = isNew && preview?.is_stored === true && preview.user.metadata.name === document?.metadata.name;
  return (
    <div class="fields-beside">
      <div>
        <Failure text={failure} />
        <Failure text={isTaken ? `A user named ${preview.user.metadata.name} already exists.` : undefined} />
        {document !== undefined && <Fields user={document} roles={loaded.value ?? []} isNew={isNew} isRead={isRead} edit={edit} />}
      </div>
      <div class="outcome-beside">{preview !== undefined && <Outcome preview={preview} isNew={isNew} />}</div>
    </div>
  );
}

interface FieldsFacts {
  readonly user: User;
  /** All stored roles. */
  readonly roles: readonly Role[];
  readonly isNew: boolean;
  readonly isRead: boolean;
  readonly edit: (user: User) => void;
}

function Fields({ user, roles, isNew, isRead, edit }: FieldsFacts) {
  const id = useId();
  const logins = user.spec.traits?.logins ?? [];
  const setOthers = (lines: string[]): string | undefined => {
    const others = traitsOf(lines);
    if (others === undefined) return "Write a trait as name=value; logins have a field of their own.";
    edit(withOtherTraits(user, others));
    return undefined;
  };
  return (
    <fieldset disabled={!isRead || !can("user", isNew ? "create" : "update")}>
      <legend class="quiet">Everything else is in the text.</legend>
      <div class="field">
        <label for={id}>Name</label>
        <input
          id={id}
          value={user.metadata.name}
          disabled={!isNew}
          maxLength={64}
          autocomplete="off"
          spellcheck={false}
          autocapitalize="none"
          onChange={(event) => edit({ ...user, metadata: { ...user.metadata, name: event.currentTarget.value.trim() } })}
        />
      </div>
      <RoleChoice user={user} roles={roles} edit={edit} />
      <Lines
        label="Logins on hosts, one per line"
        value={logins.join("\n")}
        placeholder="root"
        change={(lines) => {
          edit(withLogins(user, lines));
          return undefined;
        }}
      />
      <Lines label="Other traits, one value per line" value={traitLines(user)} placeholder="team=web" change={setOthers} />
    </fieldset>
  );
}

/** The roles of the cluster, and those that the user has and that are not there. */
function RoleChoice({ user, roles, edit }: Omit<FieldsFacts, "isNew" | "isRead">) {
  const [wrong, setWrong] = useState<string>();
  const held = user.spec.roles;
  const known = roles.map((role) => ({ name: role.metadata.name, line: roleLine(role) }));
  const missing = roles.length === 0 ? [] : held.filter((name) => !known.some((one) => one.name === name));
  const all = [...known.toSorted((a, b) => (a.name < b.name ? -1 : 1)), ...missing.map((name) => ({ name, line: "this role does not exist" }))];
  const choose = (box: HTMLInputElement, name: string): void => {
    const others = held.filter((one) => one !== name);
    const isLast = !box.checked && others.length === 0;
    // The box shows what the user has.
    if (isLast) box.checked = true;
    setWrong(isLast ? "A user needs at least one role. Add another role first." : undefined);
    if (!isLast) edit(withRoles(user, box.checked ? [...others, name] : others));
  };
  return (
    <fieldset class="role-choice">
      <legend class="quiet">Roles</legend>
      <Failure text={wrong} />
      <div class="choices">
        {all.map(({ name, line }) => (
          <label key={name} class="check">
            <input type="checkbox" checked={held.includes(name)} onChange={(event) => choose(event.currentTarget, name)} />
            <span>
              <strong>{name}</strong> <span class="quiet">{line}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Outcome({ preview: { resources, is_partial: isPartial, changes }, isNew }: { readonly preview: UserPreview; readonly isNew: boolean }) {
  return (
    <section aria-live="polite">
      <h3>What this user could do</h3>
      <p class="quiet">
        {`Compares ${isNew ? "a user without any role" : "what is stored"} with this, at ${countText(resources, "resource")}. Locks are not considered.`}
        {isPartial && " There are more, which are not compared or shown here."}
      </p>
      {changes.length === 0 && <p>The user gains and loses nothing.</p>}
      <ChangeList changes={changes} />
    </section>
  );
}
