import type { TOOLS } from "./personas.mjs";

export const OTHER_PERSONAS: Readonly<Record<"accountant" | "marketer" | "engineer" | "home" | "recruiter", unknown>>;
export const OTHER_TOOLS: typeof TOOLS;
