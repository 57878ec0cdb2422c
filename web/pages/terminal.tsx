import { useEffect, useRef, useState } from "preact/hooks";
import { EnterCode } from "../confirm/enter-code.tsx";
import { type CodeQuestion, useCode } from "../confirm/use-code.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Empty, Page } from "../parts/page.tsx";
import { place } from "../router/location.ts";
import { takeAsked } from "../terminal/asked-here.ts";
import { askedTerminal, type Wish } from "../terminal/asked-terminal.ts";
import { FilesDialog } from "../terminal/files-dialog.tsx";
import type { TerminalPage } from "../terminal/run-terminal.ts";
import { confirmedThing, type TerminalState, useTerminal } from "../terminal/use-terminal.ts";
import { TerminalQuestion } from "./terminal-question.tsx";

/**
 * `/web/terminal?node=&login=`, `?session=&mode=`, or `?cluster=&namespace=&pod=&container=&command=`: a terminal in the browser. It
 * opens when the user has asked for it: in a page of ours, or here.
 */
export function TerminalDocument() {
  const wish = askedTerminal(place.value.query);
  const [begun, begin] = useState(() => (wish !== undefined && takeAsked(wish, localStorage, Date.now()) ? wish : undefined));
  if (begun !== undefined) return <TerminalView wish={begun} />;
  if (wish !== undefined) return <TerminalQuestion wish={wish} open={() => begin(wish)} />;
  return (
    <Page title="Terminal">
      <Empty title="No host and login are chosen">
        <p>
          Choose a host in <a href="/web/hosts">Hosts</a>, a pod in <a href="/web/kubernetes">Kubernetes</a>, or a session to join in{" "}
          <a href="/web/sessions">Sessions</a>.
        </p>
      </Empty>
    </Page>
  );
}

const readerKey = "terminal-for-screen-readers";

function TerminalView({ wish }: Pick<TerminalPage, "wish">) {
  const wayOut = useRef<HTMLButtonElement>(null);
  const [hasFiles, showFiles] = useState(false);
  const [isForReader, setForReader] = useState(() => localStorage.getItem(readerKey) === "yes");
  const { screen, running, state, title, link, setLink, again, confirmed } = useTerminal({ wish, isForReader, left: () => wayOut.current?.focus() });
  const [confirmation, setConfirmation] = useState<string>();
  const files = { confirmation, confirmed: setConfirmation };
  const question = useCode(confirmedThing(wish), confirmed);
  useAskBeforeLeaving(state.is === "open");
  const where = state.is === "open" ? state.where : wantedPlace(wish);
  useEffect(() => {
    document.title = `${title === "" ? "" : `${title} · `}${where} · platform`;
  }, [title, where]);
  const readerChanged = (isOn: boolean): void => {
    setForReader(isOn);
    localStorage.setItem(readerKey, isOn ? "yes" : "no");
    if (running.current !== undefined) running.current.terminal.options.screenReaderMode = isOn;
  };
  return (
    <div class="terminal-page">
      <div class="page-head">
        <h1 tabIndex={-1}>{state.is === "open" ? state.where : "Terminal"}</h1>
        <span class="quiet terminal-title">{title}</span>
        <div class="actions">
          <label class="check">
            <input type="checkbox" checked={isForReader} onChange={({ currentTarget }) => readerChanged(currentTarget.checked)} /> Screen reader mode
          </label>
          {wish.type === "open" && (
            <button type="button" onClick={() => showFiles(true)}>
              Files…
            </button>
          )}
          <button ref={wayOut} type="button" class="way-back" onClick={() => running.current?.terminal.focus()}>
            Back to the terminal
          </button>
        </div>
      </div>
      <StateLine state={state} mode={wish.type === "join" ? wish.mode : undefined} again={again} question={question} />
      <div class="terminal-screen" ref={screen} />
      <p class="quiet terminal-keys">
        <kbd>Ctrl</kbd> <kbd>F6</kbd> leaves the terminal by keyboard
        <span>
          , <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>C</kbd> copies what is selected
        </span>
        .
      </p>
      {question.dialog}
      {link !== undefined && <LinkDialog address={link} close={() => setLink(undefined)} />}
      {hasFiles && wish.type === "open" && <FilesDialog {...files} node={wish.node} login={wish.login} close={() => showFiles(false)} />}
    </div>
  );
}

function wantedPlace(wish: Wish): string {
  if (wish.type === "pod") return `${wish.namespace}/${wish.pod}`;
  return wish.type === "open" ? wish.login : "session";
}

/** Ctrl-W deletes a word in a shell, and closes the page in a browser. */
function useAskBeforeLeaving(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isOn]);
}

interface StateLineFacts {
  readonly state: TerminalState;
  readonly mode: string | undefined;
  readonly again: () => void;
  readonly question: CodeQuestion;
}

function StateLine({ state, mode, again, question }: StateLineFacts) {
  if (state.is === "opening") return <p role="status">Connecting…</p>;
  if (state.is === "open") {
    return (
      <p role="status">
        {mode === "observer" ? "You watch this session; what you type is not sent." : mode === "peer" ? "You take part in this session." : ""}
      </p>
    );
  }
  if (state.is === "unconfirmed") return <EnterCode error={state.error} question={question} />;
  return (
    <div class={state.isFailure ? "problem" : "terminal-over"} role="alert">
      <span>{state.text}</span>
      <button type="button" onClick={again}>
        {mode === undefined ? "Open a new session" : "Join again"}
      </button>
    </div>
  );
}

function LinkDialog({ address, close }: { readonly address: string; readonly close: () => void }) {
  return (
    <Dialog title="Open this link?" close={close}>
      <p>A program in the terminal made this link. It leads to:</p>
      <p>
        <code>{address}</code>
      </p>
      <p class="buttons">
        <a class="button" href={address} target="_blank" rel="noopener noreferrer" onClick={close}>
          Open in a new tab
        </a>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}
