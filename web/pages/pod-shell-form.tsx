import type { ListedPod } from "../../core/api/web/pods.ts";
import { formText } from "../parts/form-text.ts";
import { hrefOf } from "../router/location.ts";
import { noteAsked } from "../terminal/asked-here.ts";
import { askedTerminal, hasCommand } from "../terminal/asked-terminal.ts";
import { commandWords } from "../text/command-words.ts";

export interface PodShellFacts {
  /** Name of the Kubernetes cluster. */
  readonly cluster: string;
  /** Left out: the user names one. */
  readonly pod?: ListedPod;
  /** Suggested for a pod that the user names. */
  readonly namespace?: string;
}

/** Names of the form's fields, as of the terminal's address. */
const fields = ["cluster", "namespace", "pod", "container", "command"];

/** Opens a terminal in a container, in a page of its own. */
export function PodShellForm({ cluster, pod, namespace = "" }: PodShellFacts) {
  return (
    <form
      class="host-login"
      action={hrefOf("/terminal")}
      target="_blank"
      rel="noopener"
      onSubmit={({ currentTarget: form }) => {
        const wish = askedTerminal(new URLSearchParams(fields.map((field) => [field, formText(form, field)])));
        if (wish !== undefined && hasCommand(wish)) noteAsked(wish, localStorage, Date.now());
      }}
    >
      <input type="hidden" name="cluster" value={cluster} />
      {pod === undefined ? <NamedPod namespace={namespace} /> : <ListedContainers pod={pod} />}
      <label>
        Program
        <input
          name="command"
          placeholder="a shell"
          maxLength={4096}
          spellcheck={false}
          autocapitalize="none"
          autocomplete="off"
          onInput={({ currentTarget }) =>
            currentTarget.setCustomValidity(commandWords(currentTarget.value) === undefined ? "A quote is not closed." : "")
          }
        />
      </label>
      <button type="submit" class="primary">
        Open in the browser
      </button>
    </form>
  );
}

const name = { maxLength: 253, spellcheck: false, autocapitalize: "none", autocomplete: "off", pattern: "[a-z0-9]([a-z0-9.\\-]*[a-z0-9])?" } as const;

function NamedPod({ namespace }: { readonly namespace: string }) {
  return (
    <>
      <label>
        Namespace
        <input name="namespace" required defaultValue={namespace} {...name} />
      </label>
      <label>
        Pod
        <input name="pod" required {...name} />
      </label>
      <label>
        Container
        <input name="container" placeholder="the only one" {...name} />
      </label>
    </>
  );
}

function ListedContainers({ pod: { namespace, name: pod, containers } }: { readonly pod: ListedPod }) {
  return (
    <>
      <input type="hidden" name="namespace" value={namespace} />
      <input type="hidden" name="pod" value={pod} />
      <label>
        Container
        <select name="container">
          {containers.map(({ name: container, is_running: isRunning }) => (
            <option key={container} value={container}>
              {isRunning ? container : `${container} (not running)`}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
