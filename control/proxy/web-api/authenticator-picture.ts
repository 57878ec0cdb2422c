import QRCode from "qrcode";

/* How the `otpauth://` URI of an authenticator is shown. */

const errorCorrectionLevel = "M";

/** As a QR code: inline SVG without external references. */
export async function qrSvg(uri: string): Promise<string> {
  return await QRCode.toString(uri, { type: "svg", errorCorrectionLevel, margin: 2 });
}

/** The same as a path of SVG, one unit for each of its squares, for a page that takes no markup. */
export function qrPath(uri: string): { readonly size: number; readonly path: string } {
  const { size, data } = QRCode.create(uri, { errorCorrectionLevel }).modules;
  const squares = [...data].flatMap((isDark, at) => (isDark === 1 ? [`M${at % size} ${Math.floor(at / size)}h1v1h-1z`] : []));
  return { size, path: squares.join("") };
}

/** The secret in groups of four, for typing. */
export function secretOf(uri: string): string {
  const secret = URL.canParse(uri) ? (new URL(uri).searchParams.get("secret") ?? "") : "";
  return secret.replaceAll(/(.{4})(?=.)/g, "$1 ");
}
