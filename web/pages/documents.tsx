import { useState } from "preact/hooks";
import type { AnyResource } from "../../core/api/web/documents.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { DocumentEditor } from "./document-editor.tsx";
import type { KindFacts } from "./kinds.tsx";
import { RemoveButton } from "./remove-button.tsx";

/** What is open before the list. */
type Open = { readonly edit: string } | "new" | undefined;

/** The resources of one kind, to look at, make, change and remove as the user's rules allow. */
export function Documents({ of }: { readonly of: KindFacts }) {
  const { kind, title, noun, cells, example, beside, empty, more: More } = of;
  const loaded = useLoaded(kind, async (signal) => (await call<{ resources: readonly AnyResource[] }>(`/resources/${kind}`, { signal })).resources);
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const saved = (): void => {
    close();
    loaded.reload();
  };
  const edited = typeof open === "object" ? loaded.value?.find(({ metadata }) => metadata.name === open.edit) : undefined;
  const name: Column<AnyResource> = {
    id: "name",
    title: "Name",
    by: ({ metadata }) => metadata.name,
    cell: ({ metadata }) => (
      <button type="button" class="link" onClick={() => setOpen({ edit: metadata.name })}>
        {metadata.name}
      </button>
    ),
  };
  return (
    <>
      <ListPage
        title={title}
        noun={noun}
        loaded={loaded}
        columns={[name, ...cells, actionsOf(of, loaded.reload)]}
        keyOf={({ metadata }) => metadata.name}
        textOf={(document) => JSON.stringify(document)}
        order={{ id: "name", down: false }}
        actions={
          <>
            {More !== undefined && <More reload={loaded.reload} />}
            {example !== undefined && can(kind, "create") && (
              <button type="button" class="primary" onClick={() => setOpen("new")}>
                New {noun}
              </button>
            )}
          </>
        }
        empty={<Empty title={`No ${noun}s yet`}>{empty}</Empty>}
      />
      {open === "new" && <DocumentEditor kind={kind} noun={noun} example={example} beside={beside} close={close} saved={saved} />}
      {typeof open === "object" && (
        <DocumentEditor
          kind={kind}
          noun={noun}
          name={open.edit}
          beside={beside}
          close={close}
          saved={saved}
          actions={edited === undefined ? undefined : <Actions of={of} document={edited} reload={loaded.reload} removed={saved} />}
        />
      )}
    </>
  );
}

interface ActionsFacts {
  readonly of: KindFacts;
  readonly document: AnyResource;
  readonly reload: () => void;
  readonly removed: () => void;
  /** In a row, where the name counts more. */
  readonly isQuiet?: boolean;
}

/** What may be done with a resource besides a change of its text. */
function Actions({ of: { kind, noun, actions: Own }, document, reload, removed, isQuiet = false }: ActionsFacts) {
  return (
    <>
      {Own !== undefined && <Own document={document} reload={reload} />}
      <RemoveButton kind={kind} noun={noun} name={document.metadata.name} class={isQuiet ? "plain" : "danger"} removed={removed} />
    </>
  );
}

/** The actions in the row, where the page is wide; the dialog of each has them at any width. */
function actionsOf(of: KindFacts, reload: () => void): Column<AnyResource> {
  return {
    id: "actions",
    title: "Actions",
    wide: true,
    share: of.actions === undefined ? 1 : 3,
    cell: (document) => (
      <span class="row-actions">
        <Actions of={of} document={document} reload={reload} removed={reload} isQuiet />
      </span>
    ),
  };
}
