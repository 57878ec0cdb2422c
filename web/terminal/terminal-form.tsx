import type { ComponentChildren } from "preact";
import { formText } from "../parts/form-text.ts";
import { hrefOf } from "../router/location.ts";
import { noteAsked } from "./asked-here.ts";
import { askedTerminal } from "./asked-terminal.ts";

export interface TerminalFormFacts {
  /** Called before the terminal opens. */
  readonly submitted?: (form: HTMLFormElement) => void;
  /** Fields named as those of the terminal's address, and the button. */
  readonly children: ComponentChildren;
}

/** Opens a terminal in a page of its own, which does not ask again. */
export function TerminalForm({ submitted, children }: TerminalFormFacts) {
  return (
    <form
      class="host-login"
      action={hrefOf("/terminal")}
      target="_blank"
      rel="noopener"
      onSubmit={({ currentTarget: form }) => {
        const wish = askedTerminal(new URLSearchParams([...new FormData(form).keys()].map((name) => [name, formText(form, name)])));
        if (wish !== undefined) noteAsked(wish, localStorage, Date.now());
        submitted?.(form);
      }}
    >
      {children}
    </form>
  );
}
