/** Why the user's last action failed: a sentence, which screen readers announce at once; `undefined`: it did not fail. */
export function Failure({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
