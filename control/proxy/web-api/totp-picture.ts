import QRCode from "qrcode";

/** The URI as a QR code: inline SVG without external references. */
export async function qrSvg(uri: string): Promise<string> {
  return await QRCode.toString(uri, { type: "svg", errorCorrectionLevel: "M", margin: 2 });
}

/** The secret of an `otpauth://` URI in groups of four, for typing. */
export function secretOf(uri: string): string {
  const secret = URL.canParse(uri) ? (new URL(uri).searchParams.get("secret") ?? "") : "";
  return secret.replaceAll(/(.{4})(?=.)/g, "$1 ");
}
