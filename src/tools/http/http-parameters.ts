import { z } from "zod";

export const URL_PARAMETER = z
  .string()
  .min(1)
  .max(8192)
  .describe("The whole address, with http:// or https://; private addresses are refused");

export const HEADERS_PARAMETER = z
  .record(z.string(), z.string())
  .optional()
  .describe('Request headers, such as { "Accept": "application/json" }');

export const BODY_PARAMETER = z
  .string()
  .max(8 * 1024 * 1024)
  .optional()
  .describe("The request's body as text; JSON is sent as application/json unless a header says otherwise");

/** Other names that models give these. */
export const HTTP_PARAMETER_ALIASES = { uri: "url", data: "body", payload: "body" } as const;
