import { loadChardet, loadIconv } from "./load-iconv.ts";

const SAMPLE_BYTES = 16 * 1024;

/** The most frequent characters of each written language: the right decoding shows many of them, a wrong one few. */
const COMMON = {
  gb18030: [
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么",
    "心多天而能好都然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同三已从动两长知样现分将外",
    "但身些与高意进把法此实回理点明其种声全工己话者向情部正名定女问力机给等几业最间新什打便位因重被电第门相次",
    "使教平真信关并内加化由却代产入先体别处总场书比员性通目报数件表原应路期提感更反合放做系计或受光果界今务制",
    "解各任清物记边共接它特直服题建度统色字请交认算论百义科元术结功指思非流每青管连远资带快条变联权往展该领传",
    "近留治决保达办运半候必城强步完深区即求品转量空众技程告语英基满式写识极令收钱未持取设始版双历商千容研像找",
    "站改议形委早房音则首单据导影失网似专若读志观争究包组造落视离虽坏兴切测试内容配置件库符串修改注释函数你好",
    "世界",
  ].join(""),
  big5: [
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼",
    "心多天而能好都然沒日於起還發成事只作當想看文無開手用主行方又如前所本見經頭面公同三已從動兩長知樣現分將外",
    "但身些與高意進把法此實回理點明其種聲全工己話者向情部正名定女問力機給等幾業最間新什打便位因重被電第門相次",
    "使教平真信關並內加化由卻代產入先體別處總場書比員性通目報數件表原應路期提感更反合放做系計或受光果界今務制",
    "解各任清物記邊共接它特直服題建度統色字請交認算論百義科元術結功指思非流每青管連遠資帶快條變聯權往展該領傳",
    "近留治決保達辦運半候必城強步完深區即求品轉量空眾技程告語英基滿式寫識極令收錢未持取設始版雙歷商千容研像找",
    "站改議形委早房音則首單據導影失網似專若讀志觀爭究包組造落視離雖壞興切測試檔案繁體",
  ].join(""),
  shift_jis: [
    "日本語年月人大中小国会生学時分事者行自間後見長出方今同合部場定代業入上下前全通用新動作理性力金発表面対実",
    "現設変更文字数記号書式開始終了処関使成注意必要確認値型例追加削除取得参照説明機能実装結果",
  ].join(""),
  "euc-jp": "",
  "euc-kr": [
    "이다는의에가을를하고지은도로한사기자어나리서아그대인시해일수라정부전제보주상구들있것으니여만장면과동원공",
    "조선식안유비연성스적요회화문중내게경계관국발신음생각분할용되와없때년물말모위무오해서소트린데까르며간영마",
    "테본행설치방법우드파미립산단실진중요개변된차결호처강달재심치명현세입추재번질코바러타프를터특히체료버함값",
    "출력반환록삭수정",
  ].join(""),
};

type CjkEncoding = keyof typeof COMMON;

/**
 * The encoding of a text that is not Unicode, or null when none is likely. Chinese, Japanese and Korean are judged by
 * how common the characters are that come out, which also decides on a few words; the rest by byte statistics.
 */
export function detectLegacyEncoding(bytes: Buffer): string | null {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const cjk = (Object.keys(COMMON) as CjkEncoding[])
    .map((encoding) => ({ encoding, score: scoreCjk(loadIconv().decode(sample, encoding), encoding) }))
    .sort((a, b) => b.score - a.score)[0];
  if (cjk && cjk.score > 0.5) return cjk.encoding;
  return detectSingleByte(sample);
}

/** 1 when every character beyond ASCII is a common one of the language, negative for noise. */
function scoreCjk(text: string, encoding: CjkEncoding): number {
  const common = COMMON[encoding === "euc-jp" ? "shift_jis" : encoding];
  let seen = 0;
  let score = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) continue;
    seen += 1;
    if (common.includes(character)) score += 1;
    else if (code >= 0x3040 && code <= 0x30ff) score += encoding === "shift_jis" || encoding === "euc-jp" ? 1 : -0.5;
    else if (code >= 0xac00 && code <= 0xd7a3) score += encoding === "euc-kr" ? 0.7 : -1;
    else if ((code >= 0x3000 && code <= 0x303f) || (code >= 0xff01 && code <= 0xff5e)) score += 0.8;
    else if (code >= 0x4e00 && code <= 0x9fff) score += encoding === "euc-kr" ? -0.3 : 0.2;
    else score -= 1;
  }
  return seen === 0 ? 0 : score / seen;
}

/** Names that are tried when the statistics say nothing, the usual one of Western systems first. */
function detectSingleByte(sample: Buffer): string | null {
  if (isNoise(sample)) return null;
  const best = loadChardet()
    .analyse(sample)
    .find(({ name, confidence }) => /^(ISO-8859|windows-|KOI8)/i.test(name) && confidence >= 10);
  // Each ISO 8859-1 text is also one in windows-1252, which besides has quotes, dashes and the euro.
  if (best === undefined || /^(ISO-8859-1|windows-1252)$/i.test(best.name)) return "windows-1252";
  return best.name.toLowerCase();
}

/** Control characters of the upper half are hardly ever text in a one-byte encoding. */
function isNoise(sample: Buffer): boolean {
  let upper = 0;
  let control = 0;
  for (const byte of sample) {
    if (byte >= 0x80) upper += 1;
    if (
      (byte >= 0x80 && byte < 0xa0) ||
      (byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27)
    )
      control += 1;
  }
  return control > 2 && control > upper * 0.5;
}
