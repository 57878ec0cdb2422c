import type { FileFacts, FileQuery } from "../../core/api/web/files.ts";
import { call } from "../api/request.ts";

/**
 * Has the browser save a file of a host, which it writes to its disk as it comes: it shows how far it is, and reports one that was cut as failed. What the host
 * refuses is thrown as CallError before that.
 */
export async function downloadFile(file: FileQuery, confirmation: string | undefined): Promise<FileFacts> {
  // The answer leaves a cookie by which the link is confirmed, which has no headers.
  const facts = await call<FileFacts>("/files", { query: { ...file }, confirmation });
  const link = document.createElement("a");
  const query = Object.entries(file).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  link.href = `/webapi/v1/files/content?${new URLSearchParams(query)}`;
  link.download = "";
  link.click();
  return facts;
}
