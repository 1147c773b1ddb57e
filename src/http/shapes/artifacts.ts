import { z } from "zod";
import type * as wire from "../wire.ts";
import { count, time, typed } from "./basics.ts";

const info = {
  id: z.string(),
  session: z.string().optional(),
  title: z.string(),
  contentType: z.string(),
  origin: z.enum(["made", "output"]),
  version: count,
  createdAt: time,
  updatedAt: time,
};

export const ArtifactInfo = typed<wire.ArtifactInfo>(z.strictObject(info));

export const ArtifactVersionInfo = typed<wire.ArtifactVersionInfo>(
  z.strictObject({
    version: count,
    type: z.enum(["create", "update", "update_fuzzy", "rewrite"]),
    author: z.strictObject({ agent: z.string().optional(), user: z.string().optional() }),
    callId: z.string().optional(),
    at: time,
    characters: count,
    similarity: z.number().optional(),
  }),
);

export const ArtifactDetail = typed<wire.ArtifactDetail>(
  z.strictObject({ ...info, shown: ArtifactVersionInfo, content: z.string() }),
);

export const ArtifactDiff = typed<wire.ArtifactDiff>(
  z.strictObject({
    from: count,
    to: count,
    added: count,
    removed: count,
    text: z.string(),
    truncated: z.boolean(),
  }),
);
