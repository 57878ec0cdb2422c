import { useEffect, useRef, useState } from "preact/hooks";
import type { ConfirmedThing } from "../../core/api/web/confirmations.ts";
import { bearer, call, isLoggedOut } from "../api/request.ts";
import { findConfirmation } from "../confirm/open-pages.ts";
import { notifyError, sentenceOf } from "../parts/notice.tsx";
import { endText, type Wish } from "./asked-terminal.ts";
import { type RunningTerminal, runTerminal, type TerminalPage } from "./run-terminal.ts";

/** What the page shows of the session. */
export type TerminalState =
  | { readonly is: "opening" }
  | { readonly is: "open"; readonly where: string }
  | { readonly is: "unconfirmed"; readonly error: { readonly message: string } }
  | { readonly is: "over"; readonly text: string; readonly isFailure: boolean };

type TerminalFacts = Pick<TerminalPage, "wish" | "isForReader" | "left">;

/** What a code for this terminal confirms: a session on a host once; a seat in a session, and a Kubernetes cluster, as long as the page is open. Pure. */
export function confirmedThing(wish: Wish): ConfirmedThing {
  if (wish.type === "pod") return { type: "kube", cluster: wish.cluster };
  return wish.type === "join" ? { type: "join", session: wish.session } : { type: "terminal", node: wish.node, login: wish.login };
}

/**
 * The terminal in `screen`: one session at a time, until the page is left; `again` begins the next one, `confirmed` with what a code has confirmed.
 */
export function useTerminal({ wish, isForReader, left }: TerminalFacts) {
  const screen = useRef<HTMLDivElement>(null);
  const running = useRef<RunningTerminal>(undefined);
  const { held, another } = useConfirmation(wish);
  const [state, setState] = useState<TerminalState>({ is: "opening" });
  const [title, setTitle] = useState("");
  const [link, setLink] = useState<string>();
  const [turn, setTurn] = useState(0);
  const again = (): void => setTurn((before) => before + 1);
  const confirmed = (confirmation: string): void => {
    held.current = confirmation;
    again();
  };
  useEffect(() => {
    const element = screen.current;
    if (element === null) return;
    let [isGone, isOpened] = [false, false];
    const confirmation = held.current;
    if (wish.type === "open") held.current = undefined;
    const close = (): void => closeRunning(running);
    const refused = async (error: { readonly message: string }): Promise<void> => {
      close();
      const other = await another(confirmation);
      if (isGone) return;
      if (other === undefined) setState({ is: "unconfirmed", error });
      else confirmed(other);
    };
    setState({ is: "opening" });
    setTitle("");
    runTerminal(element, {
      wish: confirmation === undefined ? wish : { ...wish, confirmation },
      token: bearer.value ?? "",
      isForReader,
      opened: ({ host, login }) => {
        isOpened = true;
        setState({ is: "open", where: login === "" ? host : `${login}@${host}` });
      },
      ended: (notice) => {
        // Of a host that was not reached, the code was not used up.
        if (notice?.type === "error" && !isOpened) held.current ??= confirmation;
        if (notice?.type === "error" && notice.error.code === "mfa_required") void refused(notice.error);
        else setState(overOf(notice));
      },
      titled: setTitle,
      linked: setLink,
      left,
      failed: (problem) => notifyError(new Error(problem)),
    }).then(
      (started) => {
        if (isGone) started.close();
        else running.current = started;
      },
      (thrown: unknown) => setState({ is: "over", text: sentenceOf(thrown), isFailure: true }),
    );
    return () => {
      isGone = true;
      close();
    };
  }, [turn]);
  return { screen, running, state, title, link, setLink, again, confirmed };
}

function closeRunning(running: { current: RunningTerminal | undefined }): void {
  running.current?.close();
  running.current = undefined;
}

/** What was confirmed for the next session; `another`: what another page has confirmed, in place of one that was refused. */
function useConfirmation(wish: Wish) {
  const held = useRef<string>(undefined);
  const refused = useRef(new Set<string>());
  const another = async (confirmation: string | undefined): Promise<string | undefined> => {
    if (confirmation !== undefined) refused.current.add(confirmation);
    return wish.type === "pod" ? await findConfirmation(wish.cluster, refused.current) : undefined;
  };
  return { held, another };
}

/** An error about the session shows the login; a lost connection may be one, which only a call can know. */
function overOf(notice: Parameters<TerminalPage["ended"]>[0]): TerminalState {
  if (notice?.type === "ended") return { is: "over", text: endText(notice), isFailure: notice.status === undefined };
  if (notice?.type === "error") {
    if (notice.error.code === "unauthenticated") isLoggedOut.value = true;
    return { is: "over", text: sentenceOf(notice.error), isFailure: true };
  }
  call("/session").catch(() => {});
  return { is: "over", text: "The connection to the proxy was lost.", isFailure: true };
}
