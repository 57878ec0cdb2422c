import { version } from "../../../core/versions/version.ts";
import type { ServiceManager } from "./systemd.ts";

/** A process's messages to the service manager, which accepts those of the main process only: none before this process is it. */
export class ServiceVoice {
  readonly #manager: ServiceManager;
  #isHeard: boolean;
  #said = "";

  constructor(manager: ServiceManager, isHeard: boolean) {
    this.#manager = manager;
    this.#isHeard = isHeard;
  }

  /** Reports the state in words; the last text is sent once this process is the main one. */
  say(text: string): void {
    const status = `${version}: ${text}`;
    if (this.#isHeard && status !== this.#said) void this.#manager.notify(`STATUS=${status}`);
    this.#said = status;
  }

  /** The service manager knows that this is the main process. */
  async ready(): Promise<void> {
    this.#isHeard = true;
    await this.#manager.notify("READY=1", `STATUS=${this.#said || version}`);
  }

  /** As the main process: names its successor. */
  async announce(pid: number): Promise<void> {
    await this.#manager.notify(`MAINPID=${pid}`);
  }

  /** Takes over the main role from a predecessor of an earlier version, which leaves the message to us: only the main process is heard. */
  async replace(pid: number): Promise<void> {
    await this.#manager.notifyAs(pid, `MAINPID=${process.pid}`);
    await this.ready();
  }

  stopping(): void {
    if (this.#isHeard) void this.#manager.notify("STOPPING=1");
  }
}
