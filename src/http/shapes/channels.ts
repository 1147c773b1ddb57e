import { z } from "zod";
import { MESSAGE_ACTIONS } from "../../tools/message/channel.ts";
import type * as wire from "../wire.ts";
import { name, text, typed } from "./basics.ts";

export const ChannelInfo = typed<wire.ChannelInfo>(
  z.strictObject({
    name: z.string(),
    type: z.string(),
    targets: z.array(z.string()),
    actions: z.array(z.enum(MESSAGE_ACTIONS)),
    problem: z.string().optional(),
  }),
);

export const ChannelTestRequest = typed<wire.ChannelTestRequest>(
  z.strictObject({ to: name.optional(), text: text.optional() }),
);
