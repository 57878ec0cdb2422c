import type { FileFacts } from "../../core/api/web/files.ts";
import { call } from "../api/request.ts";

interface HostFile {
  readonly node: string;
  readonly login: string;
  readonly path: string;
}

/**
 * Has the browser save a file of a host, which it writes to its disk as it comes: it shows how far it is, and reports one that was cut as failed. What the host
 * refuses is thrown as CallError before that.
 */
export async function downloadFile(file: HostFile): Promise<FileFacts> {
  const query = { ...file };
  const facts = await call<FileFacts>("/files", { query });
  const link = document.createElement("a");
  link.href = `/webapi/v1/files/content?${new URLSearchParams(query)}`;
  link.download = "";
  link.click();
  return facts;
}
