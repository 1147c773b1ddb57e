import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { attempt } from "../../core/error.ts";

/** In any case: names are compared without regard to it. */
const words = (text: string): string[] => text.trim().split(/\s+/);

const SETTINGS = "{json,yml,yaml,toml,ini,cfg,conf,properties,xml,txt,csv,db}";

/** Names that mean a secret at any depth of any folder. Globs of deny rules (`path-policy.ts`). */
export const SECRET_GLOBS: readonly string[] = [
  // Keys, key stores and vaults.
  ...words(`*.pem *.key *.p8 *.p12 *.pfx *.pkcs8 *.pkcs12 *.jks *.bks *.keystore *.kdbx *.kdb *.ppk *.asc.key *.agekey
    *.priv *.keytab *.keychain *.keychain-db *.agilekeychain *.opvault *.1pif *.psafe3 *.ovpn krb5cc_* wallet.dat
    secring.* secring *[_.-]{private,secret}*.asc {private,secret}*.asc ssh_host_*_key *_{rsa,dsa,ecdsa,ed25519}
    wg[0-9]*.conf wg-*.conf wireguard*.conf {chap,pap,ipsec}[-.]secrets key{3,4}.db logins.json signons.sqlite cookies.{sqlite,txt,json,db} azureprofile.json
    .ssh .gnupg .password-store .cert private-keys-v1.d .docker/trust keystore.properties key.properties signing.properties`),
  // Settings of a project with passwords.
  ...words(`.envrc .flaskenv .dev.vars .dev.vars.* .secret .secrets .secret.* .secrets.* .credentials .credentials.* .token
    .tokens .password .passwords .passwd .passwd-* passwd-s3fs .oauth .oauth2 .htpasswd .htdigest htpasswd .vault-token
    .vault_pass* .vault-pass* vault_pass* vault-pass* vault.{yml,yaml} *[._-]vault.{yml,yaml} *.tfstate *.tfstate.* .terraformrc
    terraform.rc credentials*.yml.enc secrets*.yml.enc *.secret{,s} *.secret.exs wp-config.php local_settings.py
    local.settings.json local.properties database.yml database.yaml connectionstrings.config *.publishsettings
    *.pubxml.user appsettings.{production,staging,local,secrets}.json application-{prod,production,secrets}.{yml,yaml,properties}
    client_secret*.json client-secret*.json oauth_creds.json *adminsdk*.json application_default_credentials.json
    gha-creds-*.json keyfile.json google-services.json googleservice-info.plist *service[_-]account*.json *serviceaccount*.json
    {gcp,gcloud,google,firebase,service,sa,api,private,secret,account}*[_-]key{,s}.json
    {api,private,secret,access}[_-]key{,s}.txt *[_-]token.{txt,json} token{,s}.txt pwd.txt pass.txt apikey{,s}.txt
    rootkey.csv *accesskeys.csv parameters.yml`),
  // Databases, mail and network clients.
  ...words(`.netrc _netrc .netrc.gpg .authinfo .authinfo.gpg .pgpass pgpass.conf .pg_service.conf .my.cnf .mylogin.cnf .dbshell
    .git-credentials .git-credential-store .git-credential-cache .config/git/credentials .curlrc _curlrc .wgetrc .muttrc
    .mutt .msmtprc .fetchmailrc .offlineimaprc .mbsyncrc .smbcredentials .smb .xauthority .vnc/passwd .ftpconfig .ftppass
    sftp-config.json sftp.json .remote-sync.json filezilla.xml sitemanager.xml recentservers.xml .filezilla winscp.ini
    rclone.conf .rclone.conf .config/rclone .s3cfg .s3ql .ngrok ngrok.yml .ngrok2 .config/ngrok .cloudflared .megarc .edgerc`),
  // Package managers and build services.
  ...words(`.npmrc .yarnrc.yml .pypirc .cargo/credentials* .gem/credentials share/gem/credentials .m2/settings.xml settings-security.xml
    .gradle/gradle.properties .nuget/nuget.config .config/pip/pip.conf .config/pypoetry/auth.toml .composer/auth.json
    .bundle/config .ivy2/.credentials .sbt/.credentials .hex/hex.config .pub-cache/credentials.json .lein/credentials*
    .circleci/cli.yml .travis/config.yml hudson.util.secret .chef/knife.rb .chef/credentials .sentryclirc`),
  // Clouds and services.
  ...words(`.azure .aws/credentials .aws/config .aws/{sso,cli}/cache .boto .kube kubeconfig kubeconfig.{yml,yaml} *.kubeconfig
    *[_-]kubeconfig.{yml,yaml} k3s.yaml rke2.yaml clouds.yaml *openrc.sh .docker/config.json .dockercfg .dockerconfigjson
    .config/gcloud .config/gh/hosts.yml .config/glab-cli .config/hub .config/op .config/doctl .config/hcloud .config/stripe
    .config/scw .config/linode-cli .config/helm/registry .config/containers/auth.json .config/configstore .fly/config.yml
    .netlify .config/netlify .vercel/auth.json .wrangler/config .supabase/access-token .railway/config.json .pulumi/credentials.json
    .doppler .oci .bluemix .aliyun/config.json .ovh.conf ovh.conf .mc/config.json .databrickscfg .snowsql .snowflake
    .terraform.d/credentials.tfrc.json .kaggle kaggle.json .huggingface/token .cache/huggingface/token .databricks/token-cache.json`),
  // What was typed, passwords included.
  ...words(".*_history .lesshst .viminfo"),
  "login data",
  // Agents.
  ...words(".claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json"),
  // The system.
  "/etc/{shadow,gshadow,sudoers}*",
];

const EXAMPLES = ["{example,sample,template,dist,default,defaults,schema}", "example{,s}", "sample", "template"];
const isExampleOf = (stem: string, end = ""): string[] => EXAMPLES.map((each) => `${stem}${each}${end}`);

/** Texts of an application in several languages have the same names: `locales/de/auth.json`. */
const TRANSLATIONS = words("{locale,locales,i18n,l10n,lang,langs,languages,translations,messages,intl}/**");

/** Denied by name, except for these forms that hold no secret. */
export const SECRET_GLOBS_WITH_EXCEPTIONS: readonly { glob: string; except: readonly string[] }[] = [
  { glob: ".env", except: [] },
  { glob: ".env[._-]*", except: [...isExampleOf(".env[._-]"), ...isExampleOf(".env[._-]*[._-]"), ".env.d.ts"] },
  {
    glob: "*.env",
    // A name before the dot, not a second dot.
    except: ["..env", ...isExampleOf("", ".env"), ...isExampleOf("*[._-]", ".env"), ...isExampleOf(".", ".env")],
  },
  { glob: "*.tfvars{,.json}", except: [...isExampleOf("", ".tfvars"), ...isExampleOf("*[._-]", ".tfvars")] },
  { glob: "id_{rsa,dsa,ecdsa,ed25519}*", except: ["*.pub"] },
  { glob: `{secret,secrets,credential,credentials}.${SETTINGS}`, except: TRANSLATIONS },
  { glob: `{password,passwords,passwd}.${SETTINGS}`, except: TRANSLATIONS },
  { glob: "*[_-]{passwords,credentials}.{csv,txt,json,xlsx}", except: TRANSLATIONS },
  { glob: "{auth,token,key}.json", except: TRANSLATIONS },
];

/** The name before it was copied: `.env~`, `..env.swp`, `#.env#`, `.env.2024-05-01`, `.env (1)`, `Copy of .env`. */
export function nameBeforeCopy(name: string): string {
  if (name.length > MAX_NAME_LENGTH || !COPY.test(name)) return name;
  const before = name
    .replace(/^#(.+)#$|^\.#(.+)$|^\.(.+)\.sw[a-p]$/i, "$1$2$3")
    .replace(/^(?:copy|backup)(?: \(\d+\))? of |^(?:old|backup|bak)[ ._-](?=\.)/i, "")
    .replace(COPY_END, "");
  return before === name || before === "" ? name : nameBeforeCopy(before);
}

/** No file system has a longer one, and a command may name anything. */
const MAX_NAME_LENGTH = 255;

const COPY_END =
  /(?:~\d*~?|[ ._-](?:bak|bkp|backup|old|orig|original|save|saved|copy|tmp|swp|rej|dpkg-\w+|rpm\w+|disabled|off|prev|\d)\d*| \(\d+\)| - copy)$/i;
/** Nearly no name is one. */
const COPY = new RegExp(`^(?:#|\\.#|\\.\\.|(?:copy|backup|old|bak)[ ._-])|\\.sw[a-p]$|${COPY_END.source}`, "i");

/** System files with passwords and keys. An ordinary user cannot read them; root can. */
export const SYSTEM_SECRETS: readonly string[] = [
  ...["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh"],
  ...["/etc/ssl/private", "/etc/security/opasswd", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn"],
  ...["/etc/NetworkManager/system-connections", "/etc/letsencrypt", "/etc/docker/key.json", "/etc/kubernetes"],
];

/** Whether a configuration file of git contains a password: in a URL, or in a header that it sends. */
function hasGitCredentials(config: string): boolean {
  return /:\/\/[^\s/@]+:[^\s/@]+@|:\/\/[^\s/@:]{20,}@|^\s*(?:extraheader\b.*(?:authorization|token)|password\s*=)/im.test(
    config,
  );
}

/** Whether the path is the configuration of a repository, and that contains a password. */
export function isGitConfigWithSecret(path: string): boolean {
  if (!/^config(?:\.worktree)?$/.test(basename(path)) || !/(?:^|\/)\.git(?:\/|$)/.test(dirname(path))) return false;
  return attempt(() => hasGitCredentials(readFileSync(path, "utf8")), false);
}
