import type { ITerminalOptions, Terminal } from "@xterm/xterm";

/** What every terminal of the Web UI has in common. No sequence of the output reaches beyond the terminal: links and the clipboard are the page's. */
const usualOptions: ITerminalOptions = {
  fontFamily: 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace',
  fontSize: 14,
  // At 1, the lower parts of letters and underscores are cut off.
  lineHeight: 1.15,
  scrollback: 5_000,
  allowProposedApi: false,
  theme: { background: "#14171c", foreground: "#e7eaef" },
  // Links that the output names are text.
  linkHandler: { activate: () => {}, allowNonHttpProtocols: false },
};

/** Loads the code of terminals, so that the first one opens sooner. */
export async function preloadTerminal(): Promise<void> {
  await import("@xterm/xterm");
}

/** A terminal in this element. Its code is loaded with the first one. */
export async function openTerminal(element: HTMLElement, options: ITerminalOptions = {}): Promise<Terminal> {
  const { Terminal: Xterm } = await import("@xterm/xterm");
  const terminal = new Xterm({ ...usualOptions, ...options });
  terminal.open(element);
  return terminal;
}

/** Writes, and waits until the terminal has taken it: no more than this is ever waiting. */
export function writeAll(terminal: Terminal, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => terminal.write(text, resolve));
}
