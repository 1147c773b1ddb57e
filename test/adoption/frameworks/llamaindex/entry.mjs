export { tool } from "@llamaindex/core/tools";
