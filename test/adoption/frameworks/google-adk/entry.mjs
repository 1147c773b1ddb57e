export { FunctionTool } from "@google/adk";
