import type { FitAddon } from "@xterm/addon-fit";
import type { Terminal } from "@xterm/xterm";
import type { TerminalAsk, TerminalNotice } from "../../core/api/web/terminal.ts";
import { openTerminal } from "../terminal-view/open-terminal.ts";
import { linkAddress, titleText, type Wish } from "./asked-terminal.ts";
import { type OpenTerminal, openSocket, type TerminalEnd } from "./terminal-socket.ts";

export interface TerminalPage {
  readonly wish: Wish & Pick<TerminalAsk, "confirmation">;
  readonly token: string;
  readonly isForReader: boolean;
  readonly opened: (notice: Extract<TerminalNotice, { type: "opened" }>) => void;
  readonly ended: (notice: TerminalEnd | undefined) => void;
  readonly titled: (title: string) => void;
  /** A link to a web page was chosen. */
  readonly linked: (address: string) => void;
  /** The user leaves the terminal by keyboard. */
  readonly left: () => void;
  /** Something could not be done: a sentence. */
  readonly failed: (problem: string) => void;
}

export interface RunningTerminal {
  readonly terminal: Terminal;
  /** Ends the session and removes the screen. */
  close(): void;
}

/** Time without a change of the size until the host gets it, ms. */
const settleMs = 80;

/** Size of letters where the page is as narrow as a telephone, px: of larger ones a line has too few columns. */
const narrowFontSize = 12;

/** A terminal in this element, which gets the focus, and its session. Its size follows the element's. */
export async function runTerminal(element: HTMLElement, page: TerminalPage): Promise<RunningTerminal> {
  const linkHandler = {
    activate: (_event: MouseEvent, text: string) => {
      const address = linkAddress(text);
      if (address !== undefined) page.linked(address);
    },
    allowNonHttpProtocols: false,
  };
  const terminal = await openTerminal(element, {
    linkHandler,
    screenReaderMode: page.isForReader,
    cursorBlink: false,
    ...(matchMedia("(width < 40rem)").matches && { fontSize: narrowFontSize }),
  });
  const { FitAddon: Fit } = await import("@xterm/addon-fit");
  const fit = new Fit();
  terminal.loadAddon(fit);
  fit.fit();
  const { cols, rows } = terminal;
  const session = openSocket({ ...page.wish, cols, rows }, page.token, {
    opened: page.opened,
    output: (bytes, shown) => terminal.write(bytes, shown),
    ended: (notice) => {
      terminal.options.disableStdin = true;
      page.ended(notice);
    },
  });
  listen(terminal, session, page);
  const stop = followSize(element, terminal, { fit, session });
  terminal.focus();
  return {
    terminal,
    close: () => {
      stop();
      session.close();
      terminal.dispose();
    },
  };
}

function listen(terminal: Terminal, session: OpenTerminal, page: TerminalPage): void {
  const encoder = new TextEncoder();
  const type = (bytes: Uint8Array<ArrayBuffer>): void => {
    if (!session.type(bytes)) page.failed("That is too much to paste at once.");
  };
  terminal.onData((text) => type(encoder.encode(text)));
  terminal.onBinary((text) => type(Uint8Array.from(text, (one) => one.charCodeAt(0) & 0xff)));
  terminal.onTitleChange((title) => page.titled(titleText(title)));
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== "keydown" || !event.ctrlKey || event.altKey || event.metaKey) return true;
    if (event.key === "F6") {
      event.preventDefault();
      page.left();
      return false;
    }
    if (!event.shiftKey || event.code !== "KeyC") return true;
    event.preventDefault();
    navigator.clipboard.writeText(terminal.getSelection()).catch(() => page.failed("Could not copy: the browser does not allow it."));
    return false;
  });
}

function followSize(
  element: HTMLElement,
  terminal: Terminal,
  { fit, session }: { readonly fit: FitAddon; readonly session: OpenTerminal },
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  terminal.onResize((size) => {
    clearTimeout(timer);
    timer = setTimeout(() => session.resize(size), settleMs);
  });
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(element);
  return () => {
    observer.disconnect();
    clearTimeout(timer);
  };
}
