import type { JsonSchema } from "../../schema/json-schema.ts";

/** `cancelled`: taken back by the server, or the person did not want to say either way. */
export type ServerQuestionState = "open" | "accepted" | "declined" | "cancelled" | "expired";

export type FormContent = Record<string, string | number | boolean | string[]>;

/** What an MCP server asks a person while it works. Plain data; the server's words are shown as data. */
export interface ServerQuestion {
  id: string;
  server: string;
  /** `form`: fields to fill in, never with a secret. `url`: a page to visit. */
  mode: "form" | "url";
  message: string;
  /** Of a form: what its fields take. */
  schema?: JsonSchema;
  /** Of a page: its whole address. */
  url?: string;
  askedAt: number;
  expiresAt: number;
  state: ServerQuestionState;
  /** Until whoever asked has read it. */
  content?: FormContent;
  answeredBy?: string;
  /** The door that the answer came through. */
  answeredVia?: string;
  answeredAt?: number;
  /** Why nobody answered. */
  note?: string;
}

export interface ServerQuestionAnswer {
  action: "accept" | "decline" | "cancel";
  content?: FormContent;
  by?: string;
  via?: string;
}
