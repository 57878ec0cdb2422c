import { notify, notifyError } from "./notice.tsx";

/** A command line to paste, with a button that copies it. A line that is too long breaks between its words, not within a name. */
export function CommandLine({ line }: { readonly line: string }) {
  return (
    <div class="command">
      <pre>{line.split(/(\s+)/).map((part, at) => (at % 2 === 0 ? <span key={at}>{part}</span> : part))}</pre>
      <button type="button" onClick={() => void copy(line)} aria-label={`Copy: ${line}`}>
        Copy
      </button>
    </div>
  );
}

/** Copies a text to the clipboard, and says so. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify("Copied.");
  } catch {
    notifyError(new Error("could not copy: the browser does not allow it; select the text and copy it yourself"));
  }
}
