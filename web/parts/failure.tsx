/** Why what the user has asked for failed: a sentence, which screen readers say at once; `undefined`: it did not. */
export function Failure({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
