import { signal } from "@preact/signals";

interface Notice {
  readonly text: string;
  readonly isError: boolean;
}

const notice = signal<Notice | undefined>(undefined);
/** Time for which a notice without an error is shown, ms. */
const shownMs = 6_000;
let ending: ReturnType<typeof setTimeout> | undefined;

/** Shows a sentence at the foot of the page, and has it read aloud. An error stays until it is closed. */
export function notify(text: string): void {
  show({ text, isError: false });
  ending = setTimeout(closeNotice, shownMs);
}

export function notifyError(thrown: unknown): void {
  show({ text: sentenceOf(thrown), isError: true });
}

function show(next: Notice): void {
  clearTimeout(ending);
  notice.value = next;
}

function closeNotice(): void {
  clearTimeout(ending);
  notice.value = undefined;
}

/** The message of an error as a sentence, with what to do. */
export function sentenceOf(thrown: unknown): string {
  const error = thrown as { message?: string; hint?: string };
  const message = error.message ?? String(thrown);
  const hint = error.hint === undefined ? "" : ` ${capital(error.hint)}.`;
  return `${capital(message)}.${hint}`;
}

/** A name at the beginning, such as `spec.target`, stays as it is. */
function capital(text: string): string {
  return /^[a-z]+(?![\w.])/.exec(text) === null ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The place of notices: always in the page, so that a screen reader follows it. */
export function Notices() {
  const shown = notice.value;
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown !== undefined && (
        <div class={shown.isError ? "notice bad" : "notice"}>
          <span>{shown.text}</span>
          <button type="button" class="plain" aria-label="Close this notice" onClick={closeNotice}>
            ×
          </button>
        </div>
      )}
    </div>
  );
}
