/** English words that say nothing about what a tool does, the politeness of requests included. Tool verbs are not here. */
const english =
  "a an the this that these those it its i me my mine we us our you your yours he she him her his they them their " +
  "am is are was were be been being do does did doing done have has had having will would shall should can could may " +
  "might must of in on at by for to from with into onto about as than then so if or and but not no nor also too very " +
  "just such each any some all both either neither only own same other others another more most much many few " +
  "what which who whom whose when where why how there here while because until during between among against per via " +
  "don doesn didn isn aren wasn weren won couldn wouldn shouldn hasn haven ll ve re im " +
  "please kindly thanks thank hello hi hey want wants need needs like help let lets know tell give given gives " +
  "provide provides provided additionally furthermore moreover specific specified certain various based using used " +
  "use uses able allow allows want wanted currently etc eg ie e.g i.e";

/** Characters that only bind Chinese words together; a run of Han characters is cut at them. */
const chinese = "的了吗呢吧啊呀么请我你您他她它们这那哪与或把被帮给";

const words: ReadonlySet<string> = new Set(english.split(" "));
const characters: ReadonlySet<string> = new Set(chinese);

export function isStopWord(word: string): boolean {
  return words.has(word);
}

export function isBindingCharacter(character: string): boolean {
  return characters.has(character);
}
