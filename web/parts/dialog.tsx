import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useKeptOpen } from "./keep-open.ts";

export interface DialogFacts {
  readonly title: string;
  /** Called when it closes, by its button, by Escape, or by a click beside it. */
  readonly close: () => void;
  readonly children: ComponentChildren;
  /** As wide as the page allows, for texts and tables. */
  readonly wide?: boolean;
  /** Only its buttons close it: it holds what would be lost, a changed text or a secret that is shown once. */
  readonly isKept?: boolean;
}

/** A dialog before the page: focus stays within it, and returns to where it was. */
export function Dialog({ title, close, children, wide = false, isKept = false }: DialogFacts) {
  const element = useRef<HTMLDialogElement>(null);
  useKeptOpen(isKept, element);
  // A selection that is drawn out of the dialog ends beside it, and is a click there.
  const isPressedBeside = useRef(false);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it already
    <dialog
      ref={element}
      class={wide ? "wide" : ""}
      aria-labelledby={id}
      onClose={close}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === event.currentTarget;
      }}
      onClick={(event) => isPressedBeside.current && !isKept && event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={() => element.current?.close()}>
            ×
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
