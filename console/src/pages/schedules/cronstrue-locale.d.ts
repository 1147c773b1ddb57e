/** Adds its words to cronstrue when it is loaded. The package has no types for it. */
declare module "cronstrue/locales/zh_CN";
