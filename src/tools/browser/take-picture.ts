import type { Locator, Page } from "playwright-core";
import type { Content } from "../../core/content.ts";

/** What providers take. */
const MAX_BYTES = 4.5 * 1024 * 1024;
const MAX_HEIGHT = 8_000;
const STEP_MS = 20_000;

export interface Picture {
  content: Extract<Content, { type: "image" }>;
  bytes: number;
  /** It was too tall, and ends before the page does. */
  isCut: boolean;
}

/** As PNG; where that is too large, as JPEG. */
export async function takePicture(
  page: Page,
  { element, fullPage = false }: { element?: Locator; fullPage?: boolean } = {},
): Promise<Picture> {
  const height = fullPage ? await page.evaluate<number>("document.documentElement.scrollHeight") : 0;
  const isCut = height > MAX_HEIGHT;
  const width = page.viewportSize()?.width ?? 1280;
  const area = isCut ? { clip: { x: 0, y: 0, width, height: MAX_HEIGHT }, fullPage: true } : { fullPage };
  const shoot = (quality?: number): Promise<Buffer> => {
    const form = quality === undefined ? { type: "png" as const } : { type: "jpeg" as const, quality };
    const options = { ...form, animations: "disabled" as const, caret: "hide" as const, timeout: STEP_MS };
    return element ? element.screenshot(options) : page.screenshot({ ...options, ...area });
  };
  let bytes = await shoot();
  let mimeType = "image/png";
  for (const quality of [80, 50, 20]) {
    if (bytes.length <= MAX_BYTES) break;
    bytes = await shoot(quality);
    mimeType = "image/jpeg";
  }
  return { content: { type: "image", data: bytes.toString("base64"), mimeType }, bytes: bytes.length, isCut };
}
