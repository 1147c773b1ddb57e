/** What was fetched, ready to be shown in parts. */
export interface Page {
  /** As asked for, and where the answer came from. */
  url: string;
  finalUrl: string;
  status: number;
  kind: "html" | "pdf" | "json" | "text";
  title?: string;
  author?: string;
  published?: string;
  /** Of strangers; disarmed. */
  content: string;
  /** Of a PDF. */
  pages?: number;
  /** What a reader should know of how it was made. */
  notes: readonly string[];
  /** Where it leads to another host: nothing was fetched from there. */
  redirect?: string;
}
