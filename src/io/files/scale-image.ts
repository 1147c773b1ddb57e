import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { toolError } from "../../core/error.ts";

/** An image that fits the limits of model providers. */
export interface ScaledImage {
  bytes: Buffer;
  mimeType: "image/png" | "image/jpeg";
  width: number;
  height: number;
}

export interface ScaleRequest {
  bytes: Uint8Array;
  width: number;
  height: number;
  /** The EXIF orientation, 1 to 8. The result is upright. Default: 1. */
  orientation?: number;
  /** Max width and height of the result. */
  maxEdge: number;
  maxBytes: number;
  /** Lossless formats stay so, if they fit. */
  mimeType: string;
  signal: AbortSignal;
}

/** A small file may claim any size. Decoding and scaling take about 17 bytes a pixel: some 400 MB. */
const MAX_PIXELS = 24_000_000;
/** Counted from the start of the decoder. */
const MAX_MS = 10_000;
/** Each holds a whole file in memory. */
const MAX_WAITING = 16;
const PACKAGE = "@silvia-odwyer/photon-node";

let isDecoding = false;
/** The calls that wait for the decoder, oldest first. */
const waiting: (() => void)[] = [];

/**
 * Scales an image in a thread, one image at a time. Rejects with `missing_package`, `too_large` (pixels or time), `busy`
 * (too many wait), `bad_encoding` (the decoder refuses it), or the reason of the signal.
 */
export async function scaleImage({ signal, ...request }: ScaleRequest): Promise<ScaledImage> {
  const photon = findPackage();
  const { width, height } = request;
  if (width * height > MAX_PIXELS) throw toolError("too_large", `more than ${MAX_PIXELS} pixels are not decoded`);
  await takeTurn(signal);
  try {
    return await decode({ ...request, photon }, signal);
  } finally {
    passTurn();
  }
}

async function takeTurn(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!isDecoding) {
    isDecoding = true;
    return;
  }
  if (waiting.length >= MAX_WAITING) throw toolError("busy", `${MAX_WAITING} other images wait to be scaled`);
  await new Promise<void>((resolve, reject) => {
    const start = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      waiting.splice(waiting.indexOf(start), 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    waiting.push(start);
  });
}

function passTurn(): void {
  const next = waiting.shift();
  if (next) next();
  else isDecoding = false;
}

async function decode(
  workerData: Omit<ScaleRequest, "signal"> & { photon: string },
  signal: AbortSignal,
): Promise<ScaledImage> {
  const worker = new Worker(SOURCE, { eval: true, workerData, execArgv: [] });
  const within = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]);
  try {
    return await new Promise<ScaledImage>((resolve, reject) => {
      const stop = (): void =>
        reject(signal.aborted ? signal.reason : toolError("too_large", `it takes longer than ${MAX_MS} ms`));
      within.addEventListener("abort", stop, { once: true });
      if (within.aborted) stop();
      worker.once("error", (cause) => reject(toolError("bad_encoding", "the decoder refuses it", { cause })));
      worker.once("exit", () => reject(toolError("failed", "the decoder ended without an image")));
      worker.once("message", (image: Omit<ScaledImage, "bytes"> & { bytes: Uint8Array }) =>
        resolve({ ...image, bytes: Buffer.from(image.bytes) }),
      );
    });
  } finally {
    await worker.terminate();
  }
}

/** Resolved here, because the worker runs from a string and has no path to resolve from. */
function findPackage(): string {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE);
  } catch {
    throw toolError("missing_package", `the optional package ${PACKAGE} is not installed`);
  }
}

/**
 * If the result is still too large, it is made smaller step by step. A pixel of the result is the mean of the area that
 * it covers: with the package's own `resize` the whole takes three times as long. Its `rotate` loses pixels at right angles.
 */
const SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const { photon, bytes, maxEdge, maxBytes, mimeType, orientation = 1 } = workerData;
const { PhotonImage } = require(photon);
const image = PhotonImage.new_from_byteslice(bytes);
const [fullWidth, fullHeight] = [image.get_width(), image.get_height()];
const full = image.get_raw_pixels();
let scale = Math.min(1, maxEdge / Math.max(fullWidth, fullHeight));
for (;;) {
  const width = Math.max(1, Math.round(fullWidth * scale));
  const height = Math.max(1, Math.round(fullHeight * scale));
  const scaled = upright(scale === 1 ? image : shrink(width, height));
  const png = mimeType === "image/jpeg" ? undefined : scaled.get_bytes();
  const isPng = png !== undefined && png.length <= maxBytes;
  const result = isPng ? png : scaled.get_bytes_jpeg(85);
  if (result.length <= maxBytes || Math.max(width, height) < 64) {
    const type = isPng ? "image/png" : "image/jpeg";
    parentPort.postMessage({ bytes: result, mimeType: type, width: scaled.get_width(), height: scaled.get_height() });
    break;
  }
  scale *= 0.7;
}
function shrink(width, height) {
  const pixels = new Uint8ClampedArray(width * height * 4);
  const [stepX, stepY] = [fullWidth / width, fullHeight / height];
  const area = stepX * stepY;
  for (let row = 0; row < height; row++) {
    const [top, bottom] = [row * stepY, Math.min(fullHeight, (row + 1) * stepY)];
    for (let column = 0; column < width; column++) {
      const left = column * stepX;
      const right = Math.min(fullWidth, left + stepX);
      let red = 0, green = 0, blue = 0, alpha = 0;
      for (let y = Math.floor(top); y < bottom; y++) {
        const share = (Math.min(y + 1, bottom) - Math.max(y, top)) / area;
        for (let x = Math.floor(left); x < right; x++) {
          const weight = share * (Math.min(x + 1, right) - Math.max(x, left));
          const at = (y * fullWidth + x) * 4;
          red += weight * full[at];
          green += weight * full[at + 1];
          blue += weight * full[at + 2];
          alpha += weight * full[at + 3];
        }
      }
      const to = (row * width + column) * 4;
      pixels[to] = red;
      pixels[to + 1] = green;
      pixels[to + 2] = blue;
      pixels[to + 3] = alpha;
    }
  }
  return new PhotonImage(new Uint8Array(pixels.buffer), width, height);
}
function upright(stored) {
  if (!(orientation >= 2 && orientation <= 8)) return stored;
  const [width, height] = [stored.get_width(), stored.get_height()];
  const fromRight = [2, 3, 7, 8].includes(orientation);
  const fromBottom = [3, 4, 6, 7].includes(orientation);
  const first = (fromRight ? width - 1 : 0) + (fromBottom ? (height - 1) * width : 0);
  const steps = [fromRight ? -1 : 1, fromBottom ? -width : width];
  const isTurned = orientation >= 5;
  const [newWidth, newHeight] = isTurned ? [height, width] : [width, height];
  const [nextColumn, nextRow] = isTurned ? steps.reverse() : steps;
  const from = new Uint32Array(stored.get_raw_pixels().buffer);
  const to = new Uint32Array(from.length);
  for (let row = 0; row < newHeight; row++) {
    for (let column = 0; column < newWidth; column++) {
      to[row * newWidth + column] = from[first + row * nextRow + column * nextColumn];
    }
  }
  return new PhotonImage(new Uint8Array(to.buffer), newWidth, newHeight);
}
`;
