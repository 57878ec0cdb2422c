import { useState } from "preact/hooks";
import type { HostPage } from "../../core/api/web/hosts.ts";
import type { ListedSession } from "../../core/resources/session.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { Facts, type NamedFact } from "../parts/facts.tsx";
import { GuardedButton } from "../parts/guarded-button.tsx";
import { Labels } from "../parts/labels.tsx";
import { Answer, Page } from "../parts/page.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { hrefOf } from "../router/location.ts";
import { fillRoute } from "../router/match-route.ts";
import { hostQuery, type Wish } from "../terminal/asked-terminal.ts";
import { sessionPlace } from "../text/session-place.ts";
import { visibleWord } from "../text/visible-word.ts";
import { kubePodsPath } from "./kube-pods.tsx";

type WishOf<Type extends Wish["type"]> = Extract<Wish, { type: Type }>;

/**
 * Asks before a terminal opens that an address alone has asked for: anybody can make one. The answer waits until the page can show what would open. The heading has
 * the focus, so that a key that is already on its way answers nothing; nor does a click.
 */
export function TerminalQuestion({ wish, open }: { readonly wish: Wish; readonly open: () => void }) {
  const loaded = useLoaded(JSON.stringify(wish), (signal) => factsOf(wish, signal));
  const [isEarly, setEarly] = useState(false);
  return (
    <Page title="Open this terminal?">
      <p>A link, an address or a reload has led here. Nothing is connected yet. Open it only if you expected it: {effectOf(wish)}.</p>
      <Answer of={loaded}>
        {(facts) => (
          <>
            <Facts of={facts} />
            <p class="buttons">
              <a class="button" href={hrefOf(listOf(wish))}>
                Cancel
              </a>
              <GuardedButton verb="Open" act={open} early={() => setEarly(true)} />
            </p>
          </>
        )}
      </Answer>
      <p role="status">{isEarly && "Nothing is connected: the page has only just come to the front. Wait a moment, then press Open again."}</p>
    </Page>
  );
}

function effectOf(wish: Wish): string {
  if (wish.type === "join") return wish.mode === "peer" ? "what you type goes to a running session" : "its user will see that you watch";
  return hasCommand(wish) ? "the command runs in your name" : "what you type goes to a shell in your name";
}

function hasCommand(wish: Wish): boolean {
  return wish.type === "pod" && wish.command.length > 0;
}

/** The page on which the user would have chosen it. */
function listOf(wish: Wish): string {
  if (wish.type === "pod") return fillRoute(kubePodsPath, { cluster: wish.cluster });
  return wish.type === "open" ? "/hosts" : "/sessions";
}

/** What a terminal is, for the one who is to open it. Throws CallError. */
async function factsOf(wish: Wish, signal: AbortSignal): Promise<readonly NamedFact[]> {
  if (wish.type === "pod") return podFacts(wish);
  return wish.type === "open" ? await hostFacts(wish, signal) : await sessionFacts(wish, signal);
}

async function hostFacts({ node, login }: WishOf<"open">, signal: AbortSignal): Promise<readonly NamedFact[]> {
  const { hosts } = await call<HostPage>("/hosts", { query: { query: hostQuery(node) }, signal });
  const host = hosts.length === 1 ? hosts[0] : undefined;
  return [
    ["Host", host === undefined ? <Unknown key="host" word={node} why="not the name or id of one host that you may reach" /> : visible(host.name)],
    ["Id", host && visible(host.id)],
    ["Labels", host && <Labels key="labels" labels={host.labels} />],
    ["Login", visible(login)],
  ];
}

async function sessionFacts({ session, mode }: WishOf<"join">, signal: AbortSignal): Promise<readonly NamedFact[]> {
  const { sessions } = await call<{ sessions: readonly ListedSession[] }>("/running-sessions", { signal });
  const found = sessions.find(({ sid }) => sid === session);
  return [
    ["Session", found === undefined ? <Unknown key="session" word={session} why="not a running session that you may see" /> : visible(session)],
    ["User", found && visible(found.user)],
    ["Where", found && visible(sessionPlace(found))],
    ["Started", found && <TimeText key="started" at={found.started} />],
    ["You", mode === "peer" ? "take part: what you type is sent" : "watch: what you type is not sent"],
  ];
}

function podFacts({ cluster, namespace, pod, container, command }: WishOf<"pod">): readonly NamedFact[] {
  const line = (
    <pre key="command" class="document">
      {visible(...command)}
    </pre>
  );
  return [
    ["Cluster", visible(cluster)],
    ["Namespace", visible(namespace)],
    ["Pod", visible(pod)],
    ["Container", container === "" ? "the only one" : visible(container)],
    ["Command", command.length === 0 ? "a shell" : line],
  ];
}

/** Words in the order in which they are: letters of other scripts do not turn what is around them. */
function visible(...words: readonly string[]) {
  return (
    <code>
      <bdo dir="ltr">{words.map(visibleWord).join(" ")}</bdo>
    </code>
  );
}

function Unknown({ word, why }: { readonly word: string; readonly why: string }) {
  return (
    <>
      {visible(word)} is {why}
    </>
  );
}
