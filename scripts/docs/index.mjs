// What the tests of the documents use.
export { readDocument, readDocuments } from "./read-document.mjs";
export { runDocument } from "./run-document.mjs";
export { openWorkshop } from "./scratch.mjs";
export { originalOf } from "./translation.mjs";
