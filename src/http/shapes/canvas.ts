import { z } from "zod";
import type * as wire from "../wire.ts";
import { count, time, typed } from "./basics.ts";

export const CanvasSurface = typed<wire.CanvasSurface>(
  z.strictObject({
    session: z.string().optional(),
    artifact: z.string(),
    version: count,
    kind: z.enum(["html", "svg", "markdown", "mermaid", "url"]),
    title: z.string(),
    url: z.string().optional(),
    at: time,
  }),
);
