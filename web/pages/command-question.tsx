import { useState } from "preact/hooks";
import { Facts } from "../parts/facts.tsx";
import { GuardedButton } from "../parts/guarded-button.tsx";
import { Page } from "../parts/page.tsx";
import { hrefOf } from "../router/location.ts";
import { fillRoute } from "../router/match-route.ts";
import type { CommandWish } from "../terminal/asked-terminal.ts";
import { visibleWord } from "../text/visible-word.ts";
import { kubePodsPath } from "./kube-pods.tsx";

/**
 * Asks before a command runs that an address names: anybody can make one. The heading has the focus, so that a key that is already on its way answers nothing; nor
 * does a click.
 */
export function CommandQuestion({ wish, run }: { readonly wish: CommandWish; readonly run: () => void }) {
  const { cluster, namespace, pod, container, command } = wish;
  const [isEarly, setEarly] = useState(false);
  return (
    <Page title="Run this command?">
      <p>The address of this page names a command. Nothing has run yet. Run it only if you expected it: it runs in your name.</p>
      <Facts
        of={[
          ["Cluster", <Visible key="cluster" words={[cluster]} />],
          ["Namespace", <Visible key="namespace" words={[namespace]} />],
          ["Pod", <Visible key="pod" words={[pod]} />],
          ["Container", container === "" ? "the only one" : <Visible key="container" words={[container]} />],
          [
            "Command",
            <pre key="command" class="document">
              <Visible words={command} />
            </pre>,
          ],
        ]}
      />
      <p class="buttons">
        <a class="button" href={hrefOf(fillRoute(kubePodsPath, { cluster }))}>
          Cancel
        </a>
        <GuardedButton verb="Run" act={run} early={() => setEarly(true)} />
      </p>
      <p role="status">{isEarly && "Nothing has run: the page has only just come to the front. Wait a moment, then press Run again."}</p>
    </Page>
  );
}

/** Words in the order in which they are: letters of other scripts do not turn what is around them. */
function Visible({ words }: { readonly words: readonly string[] }) {
  return (
    <code>
      <bdo dir="ltr">{words.map(visibleWord).join(" ")}</bdo>
    </code>
  );
}
