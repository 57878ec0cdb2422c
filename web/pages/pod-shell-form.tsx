import type { ListedPod } from "../../core/api/web/pods.ts";
import { TerminalForm } from "../terminal/terminal-form.tsx";
import { commandWords } from "../text/command-words.ts";

export interface PodShellFacts {
  /** Name of the Kubernetes cluster. */
  readonly cluster: string;
  /** Left out: the user names one. */
  readonly pod?: ListedPod;
  /** Suggested for a pod that the user names. */
  readonly namespace?: string;
}

/** Opens a terminal in a container. */
export function PodShellForm({ cluster, pod, namespace = "" }: PodShellFacts) {
  return (
    <TerminalForm>
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
    </TerminalForm>
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
