// Why a goal is missed, in one line each: `case: row`.
export const MISSES = {};
