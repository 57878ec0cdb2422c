import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "warn" | "idle" | "wait";

/** A state with a dot; the word says it too, for readers who do not see colours. */
export function StateText({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return (
    <span class={`state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}
