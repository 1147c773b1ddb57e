/** Prefixes of tokens, without the exact length and alphabet of gitleaks: a mask need not be that strict. */
const TOKEN_PREFIXES = `
  sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin- sk-lf- pk-lf- sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_
  pk_live_ whsec_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- glrt- glrtr- gldt- glcbt- glft- glsoat- glimt-
  glagent- gloas- glffct- glwt- GR1348941 xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp- xoxo- xoxp- xoxr- xoxs-
  xapp- xwfp- dckr_pat_ dckr_oat_ npm_ pypi- rubygems_ CLOJARS_ nfp_ nfc_ vcp_ vck_ vca_ fo1_ fm1a_ fm1r_ fm2_ HRKU-
  rnd_ tskey- hf_ api_org_ gsk_ xai- re_ pplx- r8_ fw_ csk- nvapi- tvly- pcsk_ lsv2_pt_ lsv2_sk_ wandb_v1_ apify_api_ jina_
  ABSK shpat_ shpca_ shppa_ shpss_ shptka_ sq0atp- sq0csp- sq0idp- shippo_live_ shippo_test_ EZAK EZTK duffel_live_
  duffel_test_ access_token$production$ access_token$sandbox$ FLWSECK- FLWSECK_TEST- rzp_live_ rzp_test_ pdl_live_
  lin_api_ lin_oauth_ ntn_ figd_ figo_ figu_ CFPAT- pat-na1- pat-na2- pat-eu1- ATTA ATATT3 ATCTT3 ATBB PMAK- PMAT- rdme_ tfp_ fio-u- dp.pt. dp.st.
  dp.ct. dp.sa. dp.scim. dp.audit. hvs. hvb. hvr. pul- st.v2. ops_ AGE-SECRET-KEY-1 AGE-PLUGIN- dapi dkea dop_v1_
  doo_v1_ dor_v1_ pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ napi_ NRAK- NRJS- NRII- NRRA- NRIQ- NRSP-
  sntrys_ sntryu_ sntrya_ sntryi_ glsa_ glc_ dt0c01. dt0s01. dt0s16. hcaik_ hcxik_ phx_ phs_ sgp_ sqp_ squ_ sqa_
  snyk_uat. CCIPAT_ CCIPRJ_ bkua_ bkct_ pnu_ pnb_ ico- sm_aat_ sm_pat_ sm_sat_ tk-us- xkeysib- xsmtpsib- SG. mlsn.
  LTAI AKID y0_ AQVN ya29. GOCSPX- AIza sha256~ AKCp cmVmdGtu oy2 amzn.mws. IQoJb3JpZ2lu FwoGZXIvYXdz zpka_ aio_
`
  .trim()
  .split(/\s+/);

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

export interface OwnRule {
  keywords: readonly string[];
  pattern: string;
  /** Least bits per character. */
  entropy?: number;
  /** Names after the same prefix are no secrets: a part of it must look random. */
  isToken?: boolean;
}

const tokenRule = (prefix: string): OwnRule => ({
  keywords: [prefix.toLowerCase()],
  pattern: `(?<![\\w-])${escaped(prefix)}[A-Za-z0-9_.~+/=-]{8,}`,
  isToken: true,
});

/** Words of which a text must contain one, separated by `|`; a pattern, whose first group is the secret; least entropy. */
const SHAPES: readonly (readonly [keywords: string, pattern: RegExp, entropy?: number])[] = [
  ["private-lines:", /Private-Lines: \d+\s+([A-Za-z0-9+/=\s]{40,})/],
  ["eyj", /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*/],
  ["sk-", /(?<![\w-])sk-(?=[\w-]{0,60}[0-9A-Z]|[a-z]{20,})[\w-]{16,}/],
  ["sk_", /(?<![\w-])sk_[0-9a-f]{32,}/, 3],
  ["akia|asia|aroa|aida", /\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b/],
  ["xox", /(?<![\w-])xox[abcdeoprs]-[\w-]{10,}/],
  ["1//0", /(?<![\w/:])1\/\/0[\w-]{20,}/, 3],
  ["", /\b(?:AC|SK)[0-9a-f]{32}\b/, 3],
  ["key-", /(?<![\w-])(?:pub)?key-[0-9a-f]{32}\b/, 3],
  ["-us", /(?<!\w)[0-9a-f]{32}-us\d{1,2}\b/, 3],
  ["nral", /(?<!\w)[0-9a-zA-Z]{32,40}NRAL\b/, 3],
  ["eaaa", /(?<!\w)EAAA[\w-]{40,}/, 3.5],
  ["eaa", /(?<!\w)EAA[A-Za-z0-9]{60,}/, 3.5],
  ["aaaa", /(?<!\w)AAAA[\w-]{7}:[\w-]{40,}/, 3.5],
  ["aaaaaaaaaa", /(?<!\w)A{20,22}[\w%+/=-]{40,}/, 3],
  [":aa", /(?<!\d)\d{6,12}:AA[\w-]{30,}/],
  ["", /(?<![\w.-])[MNO][DTjz][\w-]{20,26}\.[\w-]{6,7}\.[\w-]{27,45}(?![\w-])/, 3.5],
  ["pat", /(?<!\w)pat[A-Za-z0-9]{14}\.[0-9a-f]{40,64}/],
  ["q~", /(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}/, 3],
  ["azdo", /(?<!\w)[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}\b/, 3],
  ["v1.0-", /(?<!\w)v1\.0-[0-9a-f]{24}-[0-9a-f]{60,}/],
  ["", /(?<![\w/])[012]\/\d{12,18}(?:\/\d{12,18})?:[0-9a-f]{32}\b/, 3],
  ["sdk-|api-|mob-", /(?<!\w)(?:sdk|api|mob)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/],
  ["vault", /\b[sb]\.[A-Za-z0-9]{24}\b/, 3.5],
  ["bearer", /\b[Bb]earer\s+((?=[\w.~+/=-]{0,100}\d)[\w.~+/=-]{12,})/, 2.5],
  ["basic", /\bBasic\s+((?=[A-Za-z0-9+/]{0,100}[\d=])[A-Za-z0-9+/]{8,}={0,2})/, 2.5],
  ["ssws", /\bSSWS\s+([\w-]{20,})/, 3],
  ["flyv1", /\bFlyV1\s+([\w+/=,-]{20,})/, 3],
  ["sk.eyj|tk.eyj", /(?<!\w)[st]k\.eyJ[\w-]{20,}(?:\.[\w-]+)?/],
  ["xprv", /(?<!\w)[xyz]prv[1-9A-HJ-NP-Za-km-z]{60,}/, 3.5],
  ["nsec1", /(?<!\w)nsec1[a-z0-9]{50,}/, 3],
  ["sl.", /(?<![\w.])sl\.(?:[bu]\.)?[\w-]{40,}/, 3.5],
  ["$2", /\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}/, 3],
  ["$1$|$5$|$6$|$y$|$apr1$|$argon2", /\$(?:1|5|6|y|apr1|argon2id?)\$[\w./,=+$-]{20,}/, 3],
  ["secret_", /(?<![\w-])secret_[A-Za-z0-9]{40,}/, 3.5],
  ["key", /(?<!\w)key(?=\w{0,14}\d[A-Za-z]\w*\d)[A-Za-z0-9]{14}(?!\w)/, 3.5],
  ["cio", /(?<!\w)cio[A-Za-z0-9]{32}(?!\w)/, 3.5],
  ["pk_", /(?<!\w)pk_\d{6,10}_[A-Z0-9]{32}(?!\w)/],
  ["00d", /(?<!\w)00D\w{12,15}![\w.]{40,}/],
  // Addresses that are secrets themselves.
  ["://", /\b[a-z][a-z+.-]{1,20}:\/\/((?=[^\s/@:]{0,60}\d)[\w~%.-]{16,200})@/],
  ["hooks.slack.com", /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/([\w/+-]{16,})/],
  ["api/webhooks/", /discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/(\d+\/[\w-]{20,})/],
  ["webhook.office.com|office.com/webhook", /office\.com\/webhook(?:b2)?\/([\w@/-]{20,})/],
  ["logic.azure.com", /logic\.azure\.com[^\s"']*[?&]sig=([\w%.~-]{16,})/],
  ["hooks.zapier.com", /hooks\.zapier\.com\/hooks\/catch\/([\w/]{8,})/],
  ["maker.ifttt.com", /maker\.ifttt\.com\/[^\s"']{1,80}\/key\/([\w-]{16,})/],
  ["open-apis/bot/|webhook/send", /(?:open-apis\/bot\/v2\/hook\/|webhook\/send\?key=)([\w-]{16,})/],
  ["telegram.org/bot", /telegram\.org\/bot(\d+:[\w-]{20,})/],
  ["ingest|sentry", /https?:\/\/([0-9a-f]{32})@[\w.-]*(?:sentry|ingest)/],
  // Names that only these protocols have.
  ["accountkey=|sharedaccesskey=", /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/_-]{20,}={0,2})/, 3],
  ["sig=", /[?&;]sig=([\w%+/=-]{20,})/, 3],
  [
    "-signature=|&signature=|security-token=|goog-credential=",
    /[?&](?:X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential)|Signature)=([\w%+/=.-]{16,})/,
  ],
  ["aws4-hmac", /AWS4-HMAC-SHA256[^\n]{0,300}?Signature=([0-9a-f]{32,})/],
  ["_auth|_password", /(?<!\w)_(?:auth|authToken|password)\s*=\s*["']?([\w+/=.-]{8,})/],
  ['"auth"', /"auth"\s*:\s*"([A-Za-z0-9+/=]{8,})"/],
  ["privatekey|presharedkey", /\b(?:PrivateKey|PresharedKey)\s*=\s*([A-Za-z0-9+/]{42,44}={0,2})/],
  ["login|password", /\b(?:machine|login)\s+\S{1,100}\s+(?:login\s+\S{1,100}\s+)?password\s+(\S{3,100})/],
  // What a command line gives to a program as a password: see also `COMMANDS`.
  ["sshpass", /\bsshpass\s+(?:-\w\s+)?-p\s*["']?([^\s"']{1,200})/],
  ["htpasswd", /\bhtpasswd\s+-\w*b\w*\s+(?:\S{1,200}\s+){1,2}?["']?(\S{1,200})\s*(?=$|\n|;|&|\|)/],
  ["sudo", /\b(?:echo|printf)\s+(?:-\w+\s+)?["']?([^\s"'|]{1,90})["']?\s{0,3}\|\s{0,3}sudo\s+(?:-\w+\s+){0,4}-\w*S/],
  [
    "config",
    /\bconfig(?:ure)?\s+(?:set\s+)?[\w/:.@-]{0,80}(?:secret|[tT]oken|password|_key)\w{0,20}[\s=]\s{0,3}["']?([^\s"']{6,300})/,
    2,
  ],
  ["identified by|password '", /\b(?:(?:IDENTIFIED|identified)\s+(?:BY|by)|PASSWORD)\s+'([^'\n]{3,200})'/],
  ["storepass|keypass", /\s-(?:storepass|keypass|srcstorepass|deststorepass)\s+["']?([^\s"']{1,200})/],
];

/** Words, a program, and its option that takes a password, which is the group. */
const COMMANDS: readonly (readonly [keywords: string, program: RegExp, option: RegExp])[] = [
  ["curl", /curl/, /(?:-u|-U|--user|--proxy-user)[ =]?["']?[^\s:"']{0,100}:([^\s"']{1,200})/],
  ["curl", /curl/, /(?:-b|--cookie)[ =]?["']?[\w.-]{1,60}=([^\s"']{4,300})/],
  ["http", /https?/, /(?:-a|--auth)[ =]["']?[^\s:"']{0,100}:([^\s"']{1,200})/],
  ["mysql|mariadb", /(?:mysql|mariadb)\w*(?:-\w+)?/, /-p(?![\s=])["']?([^\s"']{3,200})/],
  ["redis-cli", /redis-cli/, /(?:-a|--pass)[ =]["']?([^\s"']{1,200})/],
  ["mongo", /mongo\w*/, /(?:-p|--password)[ =]?["']?([^\s"'-][^\s"']{2,200})/],
  [
    "login",
    /(?:docker|podman|nerdctl|helm|oras|crane|skopeo|buildah|az|oc|npm)(?: registry)? login/,
    /-p[ =]?["']?([^\s"'-][^\s"']{2,200})/,
  ],
  ["ldap", /ldap\w+/, /-w\s*["']?([^\s"']{1,200})/],
  ["smb|rpcclient", /(?:smb\w+|rpcclient)/, /(?:-U|--user)[ =]?["']?[^\s%"']{1,100}%([^\s"']{1,200})/],
  ["openssl", /openssl/, /(?:-pass(?:in|out)?\s+["']?pass:|-k\s+["']?)([^\s"']{1,200})/],
  ["7z|zip|rar", /(?:7z[ar]?|zip|unzip|rar|unrar)/, /(?:-P\s+|-h?p(?=\S{4}))["']?([^\s"'-][^\s"']{2,200})/],
  ["sqlcmd|bcp|mosquitto", /(?:sqlcmd|bcp|mosquitto_\w+)/, /-P\s*["']?([^\s"']{1,200})/],
  ["cqlsh|rdesktop|winrm", /(?:cqlsh|rdesktop|evil-winrm)/, /-p\s*["']?([^\s"']{1,200})/],
  ["freerdp", /x?freerdp\w*/, /\/p:["']?([^\s"']{1,200})/],
  ["lftp", /lftp/, /-u\s+["']?[^\s,"']{1,100},([^\s"']{1,200})/],
  ["sqlplus", /sqlplus/, /["']?\w{1,60}\/([^\s"'@]{1,200})@/],
];

/** Up to the next command, so that each part of a text is looked at once. */
function commandPattern(program: RegExp, option: RegExp): string {
  const name = `(?<![\\w-])${program.source}(?=\\s)`;
  return `${name}(?:(?!${name})[^\\n|;]){0,300}?\\s${option.source}`;
}

export const OWN_RULES: readonly OwnRule[] = [
  ...TOKEN_PREFIXES.map(tokenRule),
  ...SHAPES.map(([keywords, { source }, entropy]) => ({
    keywords: keywords === "" ? [] : keywords.split("|"),
    pattern: source,
    entropy,
  })),
  ...COMMANDS.map(([keywords, program, option]) => ({
    keywords: keywords.split("|"),
    pattern: commandPattern(program, option),
  })),
];
