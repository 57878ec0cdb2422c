import { useState } from "preact/hooks";
import type { AnyResource } from "../../core/api/web/documents.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { AskFirst } from "../parts/ask-first.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { notify } from "../parts/notice.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { DocumentEditor } from "./document-editor.tsx";
import type { KindFacts } from "./kinds.tsx";

/** What is open beside the list. */
type Open = { readonly edit: string } | { readonly remove: string } | "new" | undefined;

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
        columns={[name, ...cells, removal(kind, setOpen)]}
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
      {typeof open === "object" && "edit" in open && (
        <DocumentEditor kind={kind} noun={noun} name={open.edit} beside={beside} close={close} saved={saved} />
      )}
      {typeof open === "object" && "remove" in open && <Removal kind={kind} noun={noun} name={open.remove} close={close} removed={saved} />}
    </>
  );
}

function removal(kind: string, setOpen: (open: Open) => void): Column<AnyResource> {
  return {
    id: "remove",
    title: "Actions",
    wide: true,
    cell: ({ metadata: { name } }) =>
      can(kind, "delete") && (
        <button type="button" aria-label={`Remove ${name}`} onClick={() => setOpen({ remove: name })}>
          Remove
        </button>
      ),
  };
}

interface RemovalFacts {
  readonly kind: string;
  readonly noun: string;
  readonly name: string;
  readonly close: () => void;
  readonly removed: () => void;
}

function Removal({ kind, noun, name, close, removed }: RemovalFacts) {
  return (
    <AskFirst
      title={`Remove ${noun} ${name}?`}
      text="This takes effect at once, and cannot be undone."
      verb="Remove"
      close={close}
      act={async () => {
        const { notes } = await call<{ notes: readonly string[] }>(`/resources/${kind}/${encodeURIComponent(name)}`, { method: "DELETE" });
        notify([`${name} has been removed.`, ...notes].join(" "));
        removed();
      }}
    />
  );
}
