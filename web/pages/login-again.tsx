import { useEffect, useRef } from "preact/hooks";
import { forget, person, takeUp } from "../api/session.ts";
import { Login } from "./login.tsx";

/**
 * The login over the page and its dialogs: all stays as it is, and goes on after it. Only a login of the same user closes it, here or in another tab of the
 * browser.
 */
export function LoginAgain() {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
    const look = (): void => void (document.hidden || takeUp());
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return (
    <dialog
      ref={element}
      class="cover"
      aria-label="Log in again"
      onKeyDown={(event) => event.key === "Escape" && event.preventDefault()}
      // Browsers close a dialog at the second Escape, whatever its page says.
      onClose={(event) => event.currentTarget.showModal()}
    >
      <div class="alone">
        <h2>Your session has ended</h2>
        <p>Log in again to go on where you are.</p>
        <Login user={person.value?.user ?? ""} />
        <p>
          <button type="button" class="plain" onClick={forget}>
            Log in as another user
          </button>
        </p>
      </div>
    </dialog>
  );
}
