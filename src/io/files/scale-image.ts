import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { errorMessage } from "../../core/error.ts";

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
  /** Max width and height of the result. */
  maxEdge: number;
  maxBytes: number;
  /** Lossless formats stay so, if they fit. */
  mimeType: string;
  signal: AbortSignal;
}

/** Decoded, a pixel takes four bytes, twice while it is scaled. A small file may claim any size. */
const MAX_PIXELS = 64_000_000;
const MAX_MS = 20_000;
const PACKAGE = "@silvia-odwyer/photon-node";

/** Scales an image in a thread of its own. Rejects with the reason if it cannot be done within bounds. */
export async function scaleImage({ signal, ...request }: ScaleRequest): Promise<ScaledImage> {
  const { width, height } = request;
  if (width * height > MAX_PIXELS) throw new Error(`it has ${width}×${height} pixels, more than can be decoded`);
  const worker = new Worker(SOURCE, { eval: true, workerData: { ...request, photon: findPackage() }, execArgv: [] });
  const within = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]);
  try {
    return await new Promise<ScaledImage>((resolve, reject) => {
      within.addEventListener("abort", () => reject(within.reason), { once: true });
      worker.once("error", (error) => reject(new Error(errorMessage(error))));
      worker.once("exit", () => reject(new Error("the decoder ended without an image")));
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
    throw new Error(`the optional package ${PACKAGE} is not installed`);
  }
}

/** If the result is still too large, it is made smaller step by step. */
const SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const { photon, bytes, maxEdge, maxBytes, mimeType } = workerData;
const { PhotonImage, SamplingFilter, resize } = require(photon);
const image = PhotonImage.new_from_byteslice(bytes);
const [fullWidth, fullHeight] = [image.get_width(), image.get_height()];
let scale = Math.min(1, maxEdge / Math.max(fullWidth, fullHeight));
for (;;) {
  const width = Math.max(1, Math.round(fullWidth * scale));
  const height = Math.max(1, Math.round(fullHeight * scale));
  const scaled = scale === 1 ? image : resize(image, width, height, SamplingFilter.Lanczos3);
  const png = mimeType === "image/jpeg" ? undefined : scaled.get_bytes();
  const isPng = png !== undefined && png.length <= maxBytes;
  const result = isPng ? png : scaled.get_bytes_jpeg(85);
  if (result.length <= maxBytes || Math.max(width, height) < 64) {
    parentPort.postMessage({ bytes: result, mimeType: isPng ? "image/png" : "image/jpeg", width, height });
    break;
  }
  scale *= 0.7;
}
`;
