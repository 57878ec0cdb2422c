import { useEffect, useId, useState } from "preact/hooks";
import type { ListedPod, NamespaceList, PodList } from "../../core/api/web/pods.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { offerConfirmation } from "../confirm/open-pages.ts";
import { useCode } from "../confirm/use-code.tsx";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { formText } from "../parts/form-text.ts";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText, type Tone } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { place, setQuery } from "../router/location.ts";
import { matchRoute } from "../router/match-route.ts";
import { shellWord } from "../text/size.ts";
import { PodShellForm } from "./pod-shell-form.tsx";

export const kubePodsPath = "/kubernetes/:cluster";

/** The pods of a Kubernetes cluster that the user may list there. They are listed once: each list is a request in the audit log. */
export function KubePods() {
  const cluster = matchRoute(kubePodsPath, place.value.path)?.cluster ?? "";
  return <PodsOf key={cluster} cluster={cluster} />;
}

/** What a code has confirmed for the cluster is kept as long as the page is open, and lent to the shells that open from it. */
function PodsOf({ cluster }: { readonly cluster: string }) {
  const namespace = place.value.query.get("namespace") ?? "";
  const [confirmation, setConfirmation] = useState<string>();
  const question = useCode({ type: "kube", cluster }, setConfirmation);
  useEffect(() => (confirmation === undefined ? undefined : offerConfirmation(cluster, confirmation)), [cluster, confirmation]);
  const asked = { cluster, confirmation };
  const loaded = useLoaded(`${namespace} ${confirmation}`, async (signal) => ({
    of: namespace,
    ...(await call<PodList>("/kube-pods", { query: { cluster, namespace }, confirmation, signal })),
  }));
  // Those of another namespace do not answer this question.
  const listed = loaded.value?.of === namespace ? loaded.value : undefined;
  const [shown, show] = useState<ListedPod>();
  const [isNaming, name] = useState(false);
  return (
    <>
      <ListPage
        title={`Pods of ${cluster}`}
        noun="pod"
        loaded={{ ...loaded, value: listed?.pods }}
        question={question}
        columns={columnsOf(show)}
        keyOf={({ namespace: of, name: pod }) => `${of}/${pod}`}
        textOf={({ namespace: of, name: pod, state, node, containers }) => [of, pod, state, node, ...containers.map((one) => one.name)].join(" ")}
        order={{ id: "name", down: false }}
        filters={<NamespaceField asked={asked} namespace={namespace} />}
        actions={
          <>
            <button type="button" onClick={loaded.reload}>
              Reload
            </button>
            <button type="button" onClick={() => name(true)}>
              Name a pod…
            </button>
          </>
        }
        empty={<NoPods namespace={namespace} />}
        failed={<Unlisted cluster={cluster} namespace={namespace} />}
        foot={listed?.has_more === true && <p class="quiet">There are more pods than are listed here: choose a namespace.</p>}
      />
      {shown !== undefined && <PodDialog cluster={cluster} pod={shown} close={() => show(undefined)} />}
      {isNaming && (
        <Dialog title="Open a shell in a pod" close={() => name(false)}>
          <PodShellForm cluster={cluster} namespace={namespace} />
        </Dialog>
      )}
    </>
  );
}

function columnsOf(show: (pod: ListedPod) => void): readonly Column<ListedPod>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: ({ name }) => name,
      share: 5,
      cell: (pod) => (
        <button type="button" class="link" onClick={() => show(pod)}>
          {pod.name}
        </button>
      ),
    },
    { id: "namespace", title: "Namespace", by: ({ namespace }) => namespace, wide: true, cell: ({ namespace }) => namespace },
    { id: "state", title: "State", by: ({ state }) => state, wide: true, share: 3, cell: ({ state }) => <PodState state={state} /> },
    { id: "node", title: "Node", by: ({ node }) => node, wide: true, cell: ({ node }) => node },
    {
      id: "created",
      title: "Created",
      by: ({ created = "" }) => created,
      wide: true,
      share: 3,
      cell: ({ created }) => created !== undefined && <TimeText at={created} />,
    },
  ];
}

const tones: Readonly<Record<string, Tone>> = { Running: "good", Succeeded: "idle", Completed: "idle", Pending: "idle", ContainerCreating: "idle" };

function PodState({ state }: Pick<ListedPod, "state">) {
  return <StateText tone={tones[state] ?? "bad"}>{state}</StateText>;
}

interface NamespaceFacts {
  readonly asked: { readonly cluster: string; readonly confirmation: string | undefined };
  readonly namespace: string;
}

/** The namespaces are suggestions: a user who may not list them can still name one. */
function NamespaceField({ asked, namespace }: NamespaceFacts) {
  const id = useId();
  const loaded = useLoaded(JSON.stringify(asked), (signal) =>
    call<NamespaceList>("/kube-namespaces", { query: { cluster: asked.cluster }, confirmation: asked.confirmation, signal }),
  );
  return (
    <form
      class="query"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery("namespace", formText(event.currentTarget, "namespace").trim());
      }}
    >
      <label class="hidden" for={id}>
        Namespace
      </label>
      <input
        key={namespace}
        id={id}
        name="namespace"
        list={`${id}-known`}
        defaultValue={namespace}
        placeholder="all namespaces"
        maxLength={253}
        spellcheck={false}
        autocapitalize="none"
        autocomplete="off"
      />
      <datalist id={`${id}-known`}>
        {loaded.value?.namespaces.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit">Show</button>
    </form>
  );
}

function NoPods({ namespace }: { readonly namespace: string }) {
  const where = namespace === "" ? "" : ` in ${namespace}`;
  return (
    <Empty title={`There is no pod${where} that you may see`}>
      <p>
        Your roles' <code>kubernetes_resources</code> and the cluster's own RBAC decide which pods are listed.
      </p>
    </Empty>
  );
}

/** A user who may not list pods may still open a shell in one. */
function Unlisted({ cluster, namespace }: { readonly cluster: string; readonly namespace: string }) {
  return (
    <section>
      <h2>Open a shell in a pod</h2>
      <p>Choose a namespace above whose pods you may list, or name a pod:</p>
      <PodShellForm cluster={cluster} namespace={namespace} />
    </section>
  );
}

function PodDialog({ cluster, pod, close }: { readonly cluster: string; readonly pod: ListedPod; readonly close: () => void }) {
  const { namespace, name, state, created, node, containers } = pod;
  return (
    <Dialog title={name} close={close}>
      <Facts
        of={[
          ["Namespace", namespace],
          ["State", <PodState key="state" state={state} />],
          ["Created", created === undefined ? undefined : <TimeText key="created" at={created} />],
          ["Node", node === "" ? undefined : node],
          ["Images", [...new Set(containers.map(({ image }) => image))].join(", ")],
        ]}
      />
      <h3>Open a shell</h3>
      <PodShellForm cluster={cluster} pod={pod} />
      <p>Or, after tsh kube login:</p>
      <CommandLine line={`kubectl exec -it -n ${shellWord(namespace)} ${shellWord(name)} -- sh`} />
    </Dialog>
  );
}
