import { PlatformError } from "../errors/platform-error.ts";

/*
 * The parts of a certificate that lead to an extension (RFC 5280 section 4.1), in DER:
 *
 *   Certificate    ::= SEQUENCE { tbsCertificate, … }
 *   TBSCertificate ::= SEQUENCE { …, [3] { SEQUENCE OF Extension } }
 *   Extension      ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }
 */
const tags = { boolean: 0x01, octetString: 0x04, oid: 0x06, sequence: 0x30, extensions: 0xa3 } as const;

/** Maximum number of elements of a sequence: a certificate has 10 parts, and ours at most 7 extensions. */
const maxElements = 64;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/**
 * The value of the extension with this OID (the content of its DER); undefined when the certificate has none. Node shows no extensions but those that
 * it knows. Throws `unauthenticated` for what is not a certificate, and for an extension that appears twice. Pure.
 */
export function extensionValue(certificate: Buffer, oid: Buffer): Buffer | undefined {
  const [whole, ...after] = elements(certificate);
  if (whole === undefined || after.length > 0) throw malformed("it is not one element");
  const [signed] = elements(contentOf(whole, tags.sequence));
  const parts = elements(contentOf(signed, tags.sequence));
  const lists = parts.filter(({ tag }) => tag === tags.extensions);
  if (lists.length > 1) throw malformed("it has two lists of extensions");
  const [list] = lists;
  if (list === undefined) return undefined;
  const [extensions, ...others] = elements(list.content);
  if (others.length > 0) throw malformed("its list of extensions has an end before the end");
  const found = elements(contentOf(extensions, tags.sequence))
    .map((one) => elements(contentOf(one, tags.sequence)))
    .filter(([id]) => contentOf(id, tags.oid).equals(oid));
  if (found.length > 1) throw malformed("an extension appears twice");
  const [extension] = found;
  return extension === undefined ? undefined : extensionContent(extension);
}

function extensionContent([, ...rest]: readonly Element[]): Buffer {
  const [value, ...after] = rest[0]?.tag === tags.boolean ? rest.slice(1) : rest;
  if (after.length > 0) throw malformed("an extension has too many parts");
  return contentOf(value, tags.octetString);
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw malformed(`tag ${element?.tag ?? "missing"} instead of ${tag}`);
  return element.content;
}

/** The elements that fill these bytes. Views, not copies. */
function elements(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (found.length === maxElements) throw malformed(`more than ${maxElements} elements`);
    const { element, next } = elementAt(bytes, at);
    found.push(element);
    at = next;
  }
  return found;
}

function elementAt(bytes: Buffer, at: number): { readonly element: Element; readonly next: number } {
  const [tag = 0, first] = bytes.subarray(at, at + 2);
  if (first === undefined || (tag & 0x1f) === 0x1f) throw malformed(`no element at byte ${at}`);
  // Up to 3 bytes of length: certificates are far shorter. DER has no open lengths (0x80).
  const width = first < 0x80 ? 0 : first - 0x80;
  if (first === 0x80 || width > 3 || at + 2 + width > bytes.length) throw malformed(`no length at byte ${at + 1}`);
  const start = at + 2 + width;
  const length = width === 0 ? first : bytes.readUIntBE(at + 2, width);
  if (length > bytes.length - start) throw malformed(`${length} bytes expected at byte ${start}, ${bytes.length - start} left`);
  return { element: { tag, content: bytes.subarray(start, start + length) }, next: start + length };
}

function malformed(why: string): PlatformError {
  return new PlatformError("unauthenticated", `the certificate is malformed: ${why}`);
}
