/** The version of the package. A test compares it with package.json, which a program in one file does not have. */
export const VERSION = "0.2.0";
